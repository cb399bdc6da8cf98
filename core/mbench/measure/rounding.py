"""Where two cases have left otherwise than each other: how far rounding alone carries them."""

from __future__ import annotations

import math
from itertools import combinations, combinations_with_replacement
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.measure.evidence_collector import CHANGES_AT
from mbench.measure.facts import draws_masks
from mbench.results import events
from mbench.results.distance import SMALLEST, direction_gap, norm_gap, tensor_gaps
from mbench.results.validity import doubts, fewness

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.plugins.launcher import Worker
    from mbench.results.records import Run
    from mbench.spec.planning import Entry

__all__ = ["STEPS", "ask_rounding", "unexplained"]

STEPS = 2 * CHANGES_AT[-1]
"""That are made at once to find it."""
REPEATS = 3
"""Of that where masks are drawn: series differ by their masks, too, and two may be alike by luck.
Of all pairs, the root of the mean square counts."""


def unexplained(run: Run, entries: Sequence[Entry]) -> list[Entry]:
    """Those in training that have left otherwise than another, or than themselves, and of which it
    is not known yet how far rounding carries them.
    """
    known = {one.number: run.cases[one.number] for one in entries if one.case.updates}
    wanted = {
        number
        for pair in combinations_with_replacement(sorted(known), 2)  # the baseline is the first
        if any(known[number].rounding is None for number in pair)
        if doubts(*(known[number] for number in pair))
        for number in pair
    }
    return [one for one in entries if one.number in wanted and not known[one.number].rounding]


def ask_rounding(entry: Entry, worker: Worker, *, timeout: float) -> events.Rounding:
    """Let a worker make the first steps twice; raises CaseEnded, and Malformed for nonsense."""
    series: list[Sequence[wire.Seen]] = []
    for _ in range(REPEATS if draws_masks(entry.case) else 1):
        found = worker.ask(wire.Nudge(changes_at=list(CHANGES_AT)), wire.Nudged, timeout=timeout)
        series += [found.canonical, found.nudged]
    if any(len(one) != CHANGES_AT[-1] for one in series):
        raise Malformed("the worker made other steps than were asked for")
    farthest: dict[str, float] = {}
    for step in range(1, CHANGES_AT[-1] + 1):
        gaps = [dict(apart(step, *two)) for two in combinations([s[step - 1] for s in series], 2)]
        for kind in gaps[0]:
            size = math.sqrt(fmean(gap[kind] ** 2 for gap in gaps))
            farthest[kind] = max(size, farthest.get(kind, 0.0))
    return events.Rounding(case=entry.number, **farthest)


def apart(step: int, one: wire.Seen, other: wire.Seen) -> Iterator[tuple[str, float]]:
    """How far what two series have left after a step lies apart, relative to it, by kinds."""
    if one.loss is None or other.loss is None or set(one.changes) != set(other.changes):
        raise Malformed(f"the worker does not tell what {step} steps have left")
    yield "answers", abs(other.loss - one.loss) / max(abs(one.loss), SMALLEST)
    if step in CHANGES_AT:
        few = fewness(step)
        yield "norm", norm_gap(other.changes, one.changes) / few
        gaps = tensor_gaps(other.changes, one.changes, times=1.0)
        yield "tensor", max(gaps.values(), default=0.0) / few
        yield "direction", direction_gap(other.changes, one.changes) / few
        yield "statistics", direction_gap(other.statistics, one.statistics) / few
