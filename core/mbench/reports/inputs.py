"""The table of input pipelines: step alone, pipeline alone, both, and how long steps wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.axes import AXES, alike
from mbench.reports.cases import axes_of, labelled_axes
from mbench.reports.grid import Grid
from mbench.reports.text import number

if TYPE_CHECKING:
    from mbench.reports.grid import Cell
    from mbench.results.case_summary import CaseSummary
    from mbench.results.figures import Figure
    from mbench.results.inputs import InputSummary, Stall
    from mbench.results.summary import Summary

__all__ = ["input_cells", "input_table", "share"]

COLUMNS = ("step alone", "pipeline alone", "both", "waits for images", "95 % interval",
           "CPU ms/image", "pixels")  # fmt: skip
LEGEND = 'waits for images: the share of the time under "both" that the step alone does not take'


def input_table(summary: Summary) -> Grid | None:
    """A row for each case whose batches come from files; None where there is none."""
    cases = [case for case in summary.cases if case.input and case.outcome == "ok"]
    if not cases:
        return None
    differ = {axis.name for axis in AXES} - alike(axes_of(cases)) - labelled_axes(cases)
    axes = [axis for axis in AXES if axis.name in differ - {"compiler"}]
    rows: list[list[Cell]] = []
    for case in cases:
        assert case.input is not None
        rows.append(
            [case.label, *(axis.text(case.axes) for axis in axes), *cells(case, case.input)]
        )
    unit = next((case.throughput.unit for case in cases if case.throughput), "samples/s")
    made = Grid(
        f"Input pipelines, in {unit}:",
        ["framework", *(axis.column for axis in axes), *COLUMNS],
        rows,
        numeric=frozenset({*COLUMNS[:-1]}),
        whole=frozenset({"framework"}),
        spare=("pixels", "CPU ms/image", "95 % interval"),
        legend={"waits for images": LEGEND},
    )
    empty = [column for at, column in enumerate(made.columns) if not any(row[at] for row in rows)]
    return made.without(*empty)


def cells(case: CaseSummary, found: InputSummary) -> list[Cell]:
    cpu = found.cpu_seconds_per_sample
    stall = found.stall
    ends = f"{share(stall.low)} to {share(stall.high)}" if stall and stall.low is not None else ""
    alone = found.step is None  # the mode load, in which no step uses the batches
    return [
        rate(found.step), rate(case.throughput if alone else found.pipeline),
        "" if alone else rate(case.throughput),
        share(stall.value) if stall else "", ends,
        "" if cpu is None else number(1e3 * cpu), found.pixels.grade if found.pixels else "",
    ]  # fmt: skip


def rate(figure: Figure | None) -> str:
    return number(figure.value) if figure else ""


def share(value: float | None) -> str:
    """A share as a percentage; empty for None."""
    return "" if value is None else f"{100 * value:.1f} %"


def input_cells(case: CaseSummary) -> dict[str, float | str | None]:
    """Figures of the input pipeline, by name; all None for a case whose batches stay on the
    device.
    """
    found: InputSummary | None = case.input
    stall: Stall | None = found.stall if found else None
    return {
        "step_samples_per_second": found.step.value if found and found.step else None,
        "pipeline_samples_per_second": found.pipeline.value if found and found.pipeline else None,
        "stall": stall.value if stall else None,
        "stall_low": stall.low if stall else None,
        "stall_high": stall.high if stall else None,
        "cpu_seconds_per_sample": found.cpu_seconds_per_sample if found else None,
    }
