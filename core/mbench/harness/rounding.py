"""Where two cases have left otherwise than each other: how far rounding alone carries them."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.harness.witness import CHANGES_AT
from mbench.results import events
from mbench.results.doubts import doubts, fewness
from mbench.results.gaps import SMALLEST, direction_gap, norm_gap, tensor_gaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.engine.worker import Worker
    from mbench.plan.plan import Entry
    from mbench.results.records import Run

__all__ = ["STEPS", "ask_rounding", "unexplained"]

STEPS = 2 * CHANGES_AT[-1]
"""That are made to find it."""


def unexplained(run: Run, entries: Sequence[Entry]) -> list[Entry]:
    """Those in training that have left otherwise than another, or than themselves, and of which it
    is not known yet how far rounding carries them.
    """
    known = {one.number: run.cases[one.number] for one in entries if one.case.updates}
    wanted = {
        number
        for pair in combinations_with_replacement(known, 2)
        if any(known[number].rounding is None for number in pair)
        if doubts(*(known[number] for number in pair))
        for number in pair
    }
    return [one for one in entries if one.number in wanted and not known[one.number].rounding]


def ask_rounding(entry: Entry, worker: Worker, *, timeout: float) -> events.Rounding:
    """Let a worker make the first steps twice; raises CaseEnded, and Malformed for nonsense."""
    found = worker.ask(wire.Nudge(changes_at=list(CHANGES_AT)), wire.Nudged, timeout=timeout)
    errors: dict[str, list[float]] = {}

    def note(kind: str, error: float, *, steps: int = CHANGES_AT[-1]) -> None:
        errors.setdefault(kind, [0.0]).append(error / fewness(steps))

    if not len(found.canonical) == len(found.nudged) == CHANGES_AT[-1]:
        raise Malformed("the worker made other steps than were asked for")
    for step, (one, other) in enumerate(zip(found.canonical, found.nudged, strict=True), start=1):
        if one.loss is None or other.loss is None or set(one.changes) != set(other.changes):
            raise Malformed(f"the worker does not tell what {step} steps have left")
        note("answers", abs(other.loss - one.loss) / max(abs(one.loss), SMALLEST))
        if step in CHANGES_AT:
            note("norm", norm_gap(other.changes, one.changes), steps=step)
            gaps = tensor_gaps(other.changes, one.changes, times=1.0)
            note("tensor", max(gaps.values(), default=0.0), steps=step)
            note("direction", direction_gap(other.changes, one.changes), steps=step)
            note("statistics", direction_gap(other.statistics, one.statistics), steps=step)
    return events.Rounding(case=entry.number, **{kind: max(all_) for kind, all_ in errors.items()})
