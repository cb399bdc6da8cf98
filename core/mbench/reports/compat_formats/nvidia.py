"""NVIDIA's tables: weak scaling in training; batch size by throughput and latency in inference.

Where batches come from files, throughput is what NVIDIA calls Total IPS ("data + compute time taken
into account"), and its Compute IPS is that of steps alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import axes
from mbench.reports.cases import axes_of, is_reduced
from mbench.reports.compat_formats import (
    by_devices,
    grouped,
    name,
    rate,
    throughput,
    title,
    unit,
)
from mbench.reports.grid import Cell, Grid, speedup, write

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["render"]

WITHIN = ("batch_size", "scale", "precision")
"""The axes of a table's columns and rows; there is a table for each value of the others."""

TOTAL, COMPUTE = "Total IPS (data + compute)", "Compute IPS"
MEAN = "mean"
LATENCIES = {"Avg": MEAN, "50%": "p50", "90%": "p90", "95%": "p95", "99%": "p99"}


def render(summary: Summary, /, *, format_: str) -> RenderableType:
    cases = summary.cases
    grids = []
    unsaid = {*WITHIN, "compiler", "variables", *(axes.MACHINE & axes.alike(axes_of(cases)))}
    for row in grouped(cases, lambda case: (case.label, axes.key(case.axes, less=WITHIN))):
        what = f"{name(row[0], cases)}: {title(row[0], cases, less=unsaid)}"
        make = training if row[0].axes.mode == "train" else inference
        for full, reduced in pairs(row):
            grids += make(what, row, full=full, reduced=reduced)
    return write(grids, format_=format_)


def pairs(cases: list[CaseSummary]) -> list[tuple[str | None, str | None]]:
    """Every full precision with every reduced one; either with None if the other is missing."""
    precisions = list(dict.fromkeys(case.axes.precision for case in cases))
    full = [precision for precision in precisions if not is_reduced(precision)]
    reduced = [precision for precision in precisions if is_reduced(precision)]
    absent: list[str | None] = [None]
    return [(f, r) for f in full or absent for r in reduced or absent]


def training(
    what: str, cases: list[CaseSummary], *, full: str | None, reduced: str | None
) -> list[Grid]:
    """A table for each batch size, a row for each number of devices.

    Weak scaling is throughput over that of one device with the same batch size per device.
    """
    shown = [precision for precision in (reduced, full) if precision]
    total, computed = rates_of(cases)
    columns = ["Devices", *(f"{total} - {precision}" for precision in shown)]
    if reduced and full:
        columns.append(f"{total} speedup ({full} - {reduced})")
    columns += [f"{COMPUTE} - {precision}" for precision in shown] if computed else []
    columns += [f"Weak scaling - {precision}" for precision in shown]
    grids = []
    for of_batch in grouped(cases, lambda case: case.axes.batch_size):
        batch = of_batch[0].axes.batch_size
        at = {(case.axes.precision, case.axes.scale): case for case in of_batch}
        scales = {case.axes.scale: case.devices for case in by_devices(of_batch)}
        alone = next((scale for scale, count in scales.items() if count == 1), "")
        unique = len(set(scales.values())) == len(scales)
        grid = Grid(f"{what}, batch {batch} per device, {unit(of_batch)}", tuple(columns))
        for scale, count in scales.items():
            found = [at.get((precision, scale)) for precision in shown]
            row: list[Cell] = [count if unique else scale, *(rate(grid, case) for case in found)]
            if reduced and full:
                row.append(speedup(throughput(found[0]), throughput(found[1])))
            row += [compute(case) for case in found] if computed else []
            for precision, case in zip(shown, found, strict=True):
                row.append(speedup(throughput(case), throughput(at.get((precision, alone)))))
            grid.rows.append(row)
        if any(cell is not None for row in grid.rows for cell in row[1:]):
            grids.append(grid)
    return grids


def inference(
    what: str, cases: list[CaseSummary], *, full: str | None, reduced: str | None
) -> list[Grid]:
    """One table for each number of devices, a row for each batch size.

    The speed-up of a latency is the full precision's latency over the reduced one's.
    """
    main = reduced or full
    total, computed = rates_of(cases)
    columns = ["Batch size", f"{total} - {main}"]
    both = bool(reduced and full)
    columns += [f"{total} - speedup"] if both else []
    columns += [f"{COMPUTE} - {main}"] if computed else []
    for ranked in LATENCIES:
        columns.append(f"{ranked} latency (ms) - {main}")
        columns += [f"{ranked} latency - speedup"] if both else []
    grids = []
    for of_scale in grouped(by_devices(cases), lambda case: case.axes.scale):
        at = {(case.axes.precision, case.axes.batch_size): case for case in of_scale}
        count = of_scale[0].devices
        several = f", {of_scale[0].axes.scale} = {count} devices" if count > 1 else ""
        grid = Grid(f"{what}{several}, {unit(cases)}", tuple(columns))
        for batch in sorted({batch for _, batch in at}):
            case, base = at.get((str(main), batch)), at.get((str(full), batch))
            row: list[Cell] = [batch, rate(grid, case)]
            if both:
                row.append(speedup(throughput(case), throughput(base)))
            row += [compute(case)] if computed else []
            for key in LATENCIES.values():
                row.append(latency(case, key))
                if both:
                    row.append(speedup(latency(base, key), latency(case, key)))
            grid.rows.append(row)
        if grid.rows:
            grids.append(grid)
    return grids


def rates_of(cases: list[CaseSummary]) -> tuple[str, bool]:
    """What throughput is called, and whether steps were also measured alone."""
    files = any(case.input for case in cases)
    return TOTAL if files else "Throughput", any(case.input and case.input.step for case in cases)


def compute(case: CaseSummary | None) -> float | None:
    """Samples per second of steps on batches that stay on the device."""
    if throughput(case) is None or case is None or case.input is None or case.input.step is None:
        return None
    return case.input.step.value


def latency(case: CaseSummary | None, name: str) -> float | None:
    """A percentile of step time, or the mean of single steps."""
    if case is None or throughput(case) is None or (times := case.step_time_ms) is None:
        return None
    return times.latency_mean if name == MEAN else times.percentiles[name]
