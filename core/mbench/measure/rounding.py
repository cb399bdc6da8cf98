"""Measures how far apart rounding alone may drive cases whose results differ."""

from __future__ import annotations

import math
from itertools import combinations, combinations_with_replacement
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.measure.evidence_collector import CHANGES_AT
from mbench.measure.facts import draws_masks
from mbench.results import events
from mbench.results.changes import SMALLEST, direction_gap, distance, norm_gap, tensor_gaps
from mbench.results.validity import doubts, fewness
from mbench.scenarios.find import scenario_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.plugins.launcher import Worker
    from mbench.results.records import Run
    from mbench.spec.planning import Entry

__all__ = ["STEPS", "entries_to_explain", "measure_rounding"]


STEPS = 2 * CHANGES_AT[-1]
"""How many steps a worker runs in one request to measure the effect of rounding."""
TURN = 8
"""Steps of each series where nothing is updated: the largest number of batches."""
REPEATS = 3
"""Repeats with random masks. Series then also differ by their masks, and two may be similar by
chance, so the root mean square of all pairs counts."""


def entries_to_explain(
    run: Run, entries: Sequence[Entry], *, all_of_them: bool = False
) -> list[Entry]:
    """Entries whose results differ from another's, or between their own processes, where the effect
    of rounding counts and is not yet known.
    """
    known = {
        number: run.cases[number]
        for number in (one.number for one in entries)
        if run.cases[number].planned.gates.widest is not None
    }
    wanted = {
        number
        for pair in combinations_with_replacement(sorted(known), 2)  # the baseline is the first
        if any(known[number].rounding is None for number in pair)
        if all_of_them or doubts(*(known[number] for number in pair))
        for number in pair
    }
    return [one for one in entries if one.number in wanted and not known[one.number].rounding]


def measure_rounding(entry: Entry, worker: Worker, *, timeout: float) -> events.Rounding:
    """Let a worker run its first steps twice. Raises CaseEnded, and Malformed if it does not report
    what was asked for.
    """
    trains = scenario_of(entry.case).updates
    changes_at = CHANGES_AT if trains else ()
    request = wire.Nudge(steps=CHANGES_AT[-1] if trains else TURN, changes_at=list(changes_at))
    series: list[Sequence[wire.Seen]] = []
    for _ in range(REPEATS if trains and draws_masks(entry.case) else 1):
        found = worker.ask(request, wire.Nudged, timeout=timeout)
        series += [found.canonical, found.nudged]
    if any(len(one) != request.steps for one in series):
        raise Malformed("the worker ran different steps from those requested")
    if not trains:
        return events.Rounding(case=entry.number, answers=between_outputs(*series))
    farthest: dict[str, float] = {}
    for step in range(1, request.steps + 1):
        gaps = [
            dict(differences(step, *two)) for two in combinations([s[step - 1] for s in series], 2)
        ]
        for kind in gaps[0]:
            size = math.sqrt(fmean(gap[kind] ** 2 for gap in gaps))
            farthest[kind] = max(size, farthest.get(kind, 0.0))
    return events.Rounding(case=entry.number, **farthest)


def between_outputs(canonical: Sequence[wire.Seen], nudged: Sequence[wire.Seen]) -> float:
    """The root mean square of the relative distance between outputs, over one pass through all
    batches: a single sketch is an estimate from five numbers.
    """
    gaps = []
    for one, other in zip(canonical, nudged, strict=True):
        if not one.outputs or set(one.outputs) != set(other.outputs):
            raise Malformed(f"the worker did not report the result of {counted(one.step, 'step')}")
        gaps += [distance(other.outputs[name], sketch) / max(sketch[0], SMALLEST)
                 for name, sketch in one.outputs.items()]  # fmt: skip
    return math.sqrt(fmean(gap**2 for gap in gaps))


def differences(step: int, one: wire.Seen, other: wire.Seen) -> Iterator[tuple[str, float]]:
    """Relative differences between the results of two series after a step, by kind."""
    if one.loss is None or other.loss is None or set(one.changes) != set(other.changes):
        raise Malformed(f"the worker did not report the result of {counted(step, 'step')}")
    yield "answers", abs(other.loss - one.loss) / max(abs(one.loss), SMALLEST)
    if step in CHANGES_AT:
        few = fewness(step)
        yield "norm", norm_gap(other.changes, one.changes) / few
        gaps = tensor_gaps(other.changes, one.changes, times=1.0)
        yield "tensor", max(gaps.values(), default=0.0) / few
        yield "direction", direction_gap(other.changes, one.changes) / few
        yield "statistics", direction_gap(other.statistics, one.statistics) / few
