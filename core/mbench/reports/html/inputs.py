"""The section on input pipelines: what of a step's time its images take, as stacked bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.reports.cases import named_cases
from mbench.reports.html.parts import Bar, Figure, Section
from mbench.reports.inputs import input_table, share
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["input_section"]

LEAD = (
    "Time of a step on images from files: what the step takes alone, on batches that stay on the "
    "device, and what it waits for its input pipeline besides. All are measured in turns, in the "
    "same processes."
)


def input_section(summary: Summary) -> Section | None:
    """None where all batches stay on the device."""
    table = input_table(summary)
    if table is None:
        return None
    known = [(name, case) for name, case in named_cases(summary) if milliseconds(case)]
    longest = max((sum(milliseconds(case)) for _, case in known), default=1.0)
    lines = [bar for name, case in known for bar in bars(name, case, longest)]
    return Section("input", "Images from files", LEAD, [Figure(table=table, bars=lines)])


def milliseconds(case: CaseSummary) -> tuple[float, ...]:
    """Of a sample: those of the step alone, and those that it waits; nothing where that is not
    known.
    """
    found = case.input
    if found is None or found.step is None or case.throughput is None:
        return ()
    alone, both = 1e3 / found.step.value, 1e3 / case.throughput.value
    return alone, max(0.0, both - alone)


def bars(name: str, case: CaseSummary, longest: float) -> Iterator[Bar]:
    """The second begins where the first one ends."""
    alone, waits = milliseconds(case)
    stall = case.input.stall if case.input else None
    step, rest = 100 * alone / longest, 100 * waits / longest
    yield Bar(f"{name}: step", f"{number(alone)} ms/image", "none", 0.0, step)
    ends = []
    if stall and stall.low is not None and stall.high is not None:
        ends = [min(100.0, step / (1 - min(end, 0.99))) for end in (stall.low, stall.high)]
    text = f"{number(waits)} ms/image, {share(stall.value)}" if stall else f"{number(waits)} ms"
    yield Bar(f"{name}: waits for images", text, "longer", step, rest, *ends)
