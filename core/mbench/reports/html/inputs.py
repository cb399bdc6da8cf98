"""The section on input pipelines: how much of a step's time its images take, as stacked bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.axes import key
from mbench.contract.feed import COLD, WARM
from mbench.reports.cases import named_cases
from mbench.reports.html.parts import Figure, Section, Stack
from mbench.reports.inputs import input_table, share
from mbench.reports.text import number

if TYPE_CHECKING:
    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["input_section"]

LEAD = (
    "Time of a step on images from files: the time that the step takes alone, on batches that stay "
    "on the device, plus the time that it waits for its input pipeline. All are measured in turns, "
    "in the same processes."
)
ALONE, DECODING, DISK = "alone", "decoding", "disk"
KINDS = {ALONE: "the step alone", DECODING: "waits for images", DISK: "also waits for the disk"}


def input_section(summary: Summary) -> Section | None:
    """None where all batches stay on the device."""
    table = input_table(summary)
    if table is None:
        return None
    known = [(name, case) for name, case in named_cases(summary) if milliseconds(case)]
    warm = {sibling(case): case for _, case in known if case.axes.storage == WARM}
    parts = [parts_of(case, warm.get(sibling(case))) for _, case in known]
    longest = max((sum(one.values()) for one in parts), default=1.0)
    stacks = [stack(name, case, of, longest) for (name, case), of in zip(known, parts, strict=True)]
    shown = {kind: text for kind, text in KINDS.items() if any(kind in one for one in parts)}
    figure = Figure(table=table, stacks=stacks, kinds=shown)
    return Section("input", "Images from files", LEAD, [figure])


def sibling(case: CaseSummary) -> tuple[object, ...]:
    """What a case shares with the one that reads the same files, from memory or from the disk."""
    return case.label, key(case.axes, less=("storage",))


def milliseconds(case: CaseSummary) -> tuple[float, ...]:
    """Milliseconds per sample that the step alone takes, and that it waits; empty if they are not
    known.
    """
    found = case.input
    if found is None or found.step is None or case.throughput is None:
        return ()
    alone, both = 1e3 / found.step.value, 1e3 / case.throughput.value
    return alone, max(0.0, both - alone)


def parts_of(case: CaseSummary, warm: CaseSummary | None) -> dict[str, float]:
    """Milliseconds by kind. Where files come from the disk, the wait for the disk is separated from
    the wait that the same step has with files in memory.
    """
    alone, waits = milliseconds(case)
    if case.axes.storage != COLD or warm is None:
        return {ALONE: alone, DECODING: waits}
    decoding = min(waits, milliseconds(warm)[1])
    return {ALONE: alone, DECODING: decoding, DISK: waits - decoding}


def stack(name: str, case: CaseSummary, parts: dict[str, float], longest: float) -> Stack:
    stall = case.input.stall if case.input else None
    widths = [(kind, round(100 * taken / longest, 3)) for kind, taken in parts.items() if taken]
    times = " + ".join(number(taken) for taken in parts.values())
    ends = []
    if stall and stall.low is not None and stall.high is not None:
        step = 100 * parts[ALONE] / longest
        ends = [min(100.0, step / (1 - min(end, 0.99))) for end in (stall.low, stall.high)]
    waits = f", waits {share(stall.value)}" if stall else ""
    return Stack(name, f"{times} ms/image{waits}", widths, *ends)
