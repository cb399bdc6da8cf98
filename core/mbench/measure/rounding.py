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
from mbench.results.changes import (
    BEGUN,
    SMALLEST,
    direction_gap,
    distance,
    fewness,
    norm_gap,
    tensor_gaps,
    together,
)
from mbench.results.evidence import REPEATED
from mbench.results.validity import explicable
from mbench.scenarios.find import scenario_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.plugins.launcher import Worker
    from mbench.results.records import CaseRecord, Run
    from mbench.spec.planning import Entry

__all__ = ["NUDGES", "entries_to_explain", "measure_rounding", "series_of"]


SERIES = (*CHANGES_AT, 32, 64)
"""Numbers of steps after which the effect of rounding is measured, as far as the case has been
compared."""
TURN = 8
"""Steps of each series where nothing is updated: the largest number of batches."""
NUDGES = 3
"""The most nudges of a case: some carry it ten times as far as others (ShuffleNet in fp32: 0.003 to
0.035), so one is not enough to speak against a case."""
REPEATS = 3
"""Repeats with random masks. Series then also differ by their masks, and two may be similar by
chance, so the root mean square of all pairs counts."""
GRID = 0.41
"""How far apart two frameworks round an update to the precision of the parameter if their roundings
have nothing in common, in units in the last place, as a root mean square: each is off by up to half
a unit. Seen under AdamW, whose decay is smaller than a unit, and rounded away in some frameworks:
0.1 to 0.17 (LSTM) and 0.27 (GPT-2) in each of 16 steps."""


def entries_to_explain(
    run: Run, entries: Sequence[Entry], *, all_of_them: bool = False
) -> list[Entry]:
    """Entries whose results differ from another's, or between their own processes, where the effect
    of rounding counts and is not known well enough to explain it.
    """
    able = {one.number: one for one in entries
            if run.cases[one.number].planned.gates.widest is not None}  # fmt: skip
    known = {number: run.cases[number] for number in able}
    left = {number for number, one in able.items() if nudges_of(known[number]) < most_nudges(one)}
    wanted = {
        number
        for pair in combinations_with_replacement(sorted(known), 2)  # the baseline is the first
        if left.intersection(pair)
        if (all_of_them and not all(known[number].nudges for number in pair))
        or explicable(*(known[number] for number in pair))
        for number in pair
    }
    return [able[number] for number in able if number in wanted & left]


def nudges_of(case: CaseRecord) -> int:
    return max((one.number for one in case.nudges), default=0)


def most_nudges(entry: Entry) -> int:
    """Outputs of all batches are many samples already, and masks are drawn several times anyway."""
    scattered = draws_masks(entry.case) or not scenario_of(entry.case).updates
    return 1 if scattered else NUDGES


def series_of(entry: Entry, case: CaseRecord) -> tuple[int, ...]:
    """Numbers of steps after which the effect of rounding is measured; none if nothing is
    updated.
    """
    if not scenario_of(entry.case).updates:
        return ()
    compared = max((one.step for one in changes_of(case)), default=0)
    return tuple(step for step in SERIES if step <= max(compared, BEGUN))


def walk(step: int) -> float:
    """How far equal errors of so many steps carry parameters: beyond the first, farther than a
    random walk does.
    """
    beyond: float = max(step / BEGUN, 1.0) ** REPEATED
    return math.sqrt(step) * beyond


def changes_of(case: CaseRecord) -> list[events.Changes]:
    return [change for process in case.processes.values() for change in process.changes]


def measure_rounding(
    entry: Entry, case: CaseRecord, worker: Worker, *, timeout: float
) -> list[events.Rounding]:
    """Let a worker run its first steps twice. Raises CaseEnded, and Malformed if it does not report
    what was asked for.
    """
    steps, number = series_of(entry, case), nudges_of(case) + 1
    request = wire.Nudge(steps=steps[-1] if steps else TURN, changes_at=list(steps), number=number)
    series: list[Sequence[wire.Seen]] = []
    for _ in range(REPEATS if steps and draws_masks(entry.case) else 1):
        found = worker.ask(request, wire.Nudged, timeout=timeout)
        series += [found.canonical, found.nudged]
    if any(len(one) != request.steps for one in series):
        raise Malformed("the worker ran different steps from those requested")
    if not steps:
        return [events.Rounding(case=entry.number, answers=between_outputs(*series))]
    told: list[events.Rounding] = []
    farthest: dict[str, float] = {}
    for step in range(1, request.steps + 1):
        gaps = [
            dict(differences(*two, step=step, changed=step in steps))
            for two in combinations([s[step - 1] for s in series], 2)
        ]
        for kind in gaps[0]:
            size = math.sqrt(fmean(gap[kind] ** 2 for gap in gaps))
            farthest[kind] = max(size, farthest.get(kind, 0.0))
        if step in steps and step >= BEGUN:
            ways = [together(one.parameters) for one in changes_of(case) if one.step == step]
            way = min(ways, default=together(series[0][step - 1].changes))
            grid = GRID * walk(step) * found.unit / way if way else 0.0
            told.append(
                events.Rounding(case=entry.number, number=number, step=step, grid=grid, **farthest)
            )
    return told


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


def differences(
    one: wire.Seen, other: wire.Seen, *, step: int, changed: bool
) -> Iterator[tuple[str, float]]:
    """Relative differences between the results of two series after a step, by kind."""
    if one.loss is None or other.loss is None or set(one.changes) != set(other.changes):
        raise Malformed(f"the worker did not report the result of {counted(step, 'step')}")
    yield "answers", abs(other.loss - one.loss) / max(abs(one.loss), SMALLEST)
    if changed:
        few = fewness(step)
        yield "norm", norm_gap(other.changes, one.changes) / few
        gaps = tensor_gaps(other.changes, one.changes, times=1.0)
        yield "tensor", max(gaps.values(), default=0.0) / few
        yield "direction", direction_gap(other.changes, one.changes) / few
        yield "statistics", direction_gap(other.statistics, one.statistics) / few
