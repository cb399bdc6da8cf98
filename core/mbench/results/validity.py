"""What speaks against the work of timed processes: answers, updates and clocks."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

from mbench.contract.quantities import CAUSAL
from mbench.contract.wire import NUMBERS
from mbench.results import clocks
from mbench.results.ceiling import mfu
from mbench.results.changes import (
    BEGUN,
    SMALLEST,
    UNEVEN_STEPS,
    distance,
    unlike_changes,
    unlike_growth,
)
from mbench.results.later import fallen_short, unlike_tensors
from mbench.results.masks import between_two, unlike_means, unlike_scatter
from mbench.results.rounding import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.results.events import Changes, Evidence
    from mbench.results.evidence import Earlier, Gates, Sketch
    from mbench.results.figures import TimedSteps
    from mbench.results.records import CaseRecord

__all__ = ["MOST_MFU", "doubts", "explicable", "implausible", "share_of_peak", "unlikeness"]

MOST_MFU = 1.1
"""The largest credible MFU: another kernel may be faster than the product that shows the peak."""
CLOCKS = (clocks.misread, clocks.merged, clocks.fixed)
STEPS_PER_SKIP = 500
"""Steps per skipped one: frameworks double a loss scale after 2,000 steps without an overflow, and
then have one."""
MAY = "may explain it in this case, so nothing is shown: use larger batches or samples"
SLOPE, STEEPEST = 0.5, 2.0
"""The first is how much one batch's drift may differ from what is seen of it, as a multiple of the
drift of all batches: in ShuffleNet's first steps, batches drift 0.7 and 1.7 times as much as all
together. The second is the most that the scatter of drifts counts for a batch whose drift is not
seen; in an MLP mixer, batches drift by 0.04 to 2.12 times as much as all together."""
TOGETHER, FEWEST_OUTPUTS = 0.75, 4
"""The outputs of all batches together must be within this multiple of the gate for one batch, if
there are at least this many: a single sketch estimates from five numbers. Seen in half precision:
0.45, and 1.1 with weights and inputs of 8 bits."""
MOST_ANSWERS = 1e-3
"""The widest that the gate of losses becomes as rounding carries parameters apart."""
NUDGED = 10.0
"""How many times as far one nudge may carry a case as another; seen for ShuffleNet in fp32: 12."""
FARTHEST = 4.0
"""Multiple of the distance over which the drift of losses was seen; no loss is judged beyond it."""


def unlikeness(baseline: CaseRecord, other: CaseRecord) -> tuple[list[str], list[str]]:
    """How the results of two cases, or of the processes of one, differ: what speaks against their
    work, and what rounding alone may explain, so that nothing can be said about it.

    How far rounding carries both widens gates, as long as different work still shows.
    """
    found = list(unlike(baseline, other, Limits(baseline, other)))
    short = list(fallen_short(baseline, other))
    if found and not short and hidden(baseline, other):
        return [], [f"{one}: rounding alone {MAY}" for one in found]
    return [*short, *(one for one in found if one not in short)], []


def doubts(baseline: CaseRecord, other: CaseRecord) -> list[str]:
    """What speaks against the work of two cases."""
    return unlikeness(baseline, other)[0]


def explicable(baseline: CaseRecord, other: CaseRecord) -> bool:
    """Whether two cases differ so that it helps to know better how far rounding carries them."""
    if not any(unlikeness(baseline, other)):
        return False
    limits = Limits(baseline, other, times=NUDGED)
    if not limits.rounds:
        return True
    return not any((*fallen_short(baseline, other), *unlike(baseline, other, limits)))


def hidden(baseline: CaseRecord, other: CaseRecord) -> bool:
    """Whether rounding alone may carry two cases as far apart as they are."""
    limits = Limits(baseline, other, farthest=True)
    return limits.rounds and not any(unlike(baseline, other, limits))


def unlike(baseline: CaseRecord, other: CaseRecord, limits: Limits) -> Iterator[str]:
    """What differs by more than `limits` allow."""
    gates = limits.after(BEGUN)
    if said := first_losses(baseline, other, gates):
        yield said
    itself = " on its own" if baseline is other else ""
    slope, slope_of_other = (drift(case)[0] for case in (baseline, other))
    for said in (
        unlike_losses(baseline, other, gates),
        unlike_means(baseline, other, slope),
        unlike_scatter(baseline, other, (slope, slope_of_other)),
        unlike_outputs(baseline, other, gates),
        *unlike_changes(baseline, other, limits.after),
        *unlike_tensors(baseline, other, limits.after),
    ):
        if said:
            yield f"{other.planned.label}: {said}{itself}"
    for said in (overflows(other), unlike_growth(baseline, other, gates.growth)):
        if said:
            yield f"{other.planned.label}: {said}"


def first_losses(baseline: CaseRecord, other: CaseRecord, gates: Gates) -> str:
    """How first losses as timed differ, if they do; the proof is made at a small size."""
    known = [loss for case in (baseline, other) for loss in first_losses_of(case)]
    by_masks = between_two(baseline, other, drift(baseline, other)[0])
    if known and max(known) - min(known) > max(gates.answers * abs(known[0]), by_masks):
        return f"the first losses as timed lie apart: {min(known):.9g} and {max(known):.9g}"
    return ""


def first_losses_of(case: CaseRecord) -> list[float]:
    """Losses of the first batch with the parameters that were loaded, one per process that reported
    it.
    """
    found = (process.warm.first_loss for process in case.processes.values())
    return [loss for loss in found if loss is not None]


def evidence(case: CaseRecord) -> list[Evidence | Earlier]:
    """Evidence of the blocks' last steps, and of earlier ones that were asked for."""
    found: list[Evidence | Earlier] = []
    for process in case.processes.values():
        for _, last in process.evidence:
            found += [last, *last.earlier]
    return found


def by_batch(case: CaseRecord) -> dict[int, list[tuple[float, float]]]:
    """How far steps had carried parameters, and the loss, for each step with evidence, by batch."""
    found: dict[int, list[tuple[float, float]]] = {}
    for one in evidence(case):
        if one.loss is not None:
            found.setdefault(one.batch, []).append((one.due, one.loss))
    return found


def drift(*cases: CaseRecord) -> tuple[float, float]:
    """How much losses change as updates carry parameters, the same for all batches; and how far
    that holds: FARTHEST times the distance over which it was seen for one batch. If no batch was
    met at two distances, the first loss of the first batch counts, too. The distance is negative if
    it is unknown.
    """
    met = [
        (batch, points)
        for case in cases
        for batch, points in by_batch(case).items()
        if batch < NUMBERS
    ]
    begun = [(0.0, loss) for case in cases for loss in first_losses_of(case)]
    for more in ([], begun):
        moved, changed, way = 0.0, 0.0, 0.0
        for points in (points if batch else points + more for batch, points in met):
            due, loss = map(fmean, zip(*points, strict=True))
            moved += sum((a - due) ** 2 for a, _ in points)
            changed += sum((a - due) * (b - loss) for a, b in points)
            way = max(way, *(abs(a - due) for a, _ in points))
        if moved:
            return changed / moved, FARTHEST * way
    carried_at_all = any(due for _, points in met for due, _ in points)
    return 0.0, -1.0 if carried_at_all else 0.0


def drifts(*cases: CaseRecord) -> dict[int, float]:
    """The drift of each batch that a case met at different distances, from its own level."""
    moved: dict[int, float] = {}
    changed: dict[int, float] = {}
    for batch, points in (found for case in cases for found in by_batch(case).items()):
        due, loss = map(fmean, zip(*points, strict=True))
        moved[batch] = moved.get(batch, 0.0) + sum((a - due) ** 2 for a, _ in points)
        changed[batch] = changed.get(batch, 0.0) + sum((a - due) * (b - loss) for a, b in points)
    return {batch: changed[batch] / of for batch, of in moved.items() if of}


def unlike_losses(baseline: CaseRecord, other: CaseRecord, gates: Gates) -> str:
    """Checks the losses of the steps with evidence: by batch, and along the drift that updates
    cause.

    A batch's loss is lowered most by the steps on it, of which it may have had more than others.
    Anything between the drift of its batch and that of all is accepted; for a batch whose drift is
    not seen, anything within the scatter of the drifts that are.
    """
    slope, reach = drift(baseline, other)
    own = drifts(baseline, other)
    apart = max((abs(one - slope) for one in own.values()), default=0.0)
    apart = min(apart, STEEPEST * abs(slope))
    levels = {
        batch: tuple(map(fmean, zip(*points, strict=True)))
        for batch, points in by_batch(baseline).items()
    }
    by_masks = between_two(baseline, other, slope)
    worst, said = 1.0, ""
    met: dict[tuple[int, int], list[float]] = {}
    for known in evidence(baseline):
        if known.loss is not None:
            met.setdefault((known.batch, known.step), []).append(known.loss)
    for one in evidence(other):
        same = met.get((one.batch, one.step), [])
        if one.loss is not None and len(same) > (baseline is other):
            level = fmean(same)
            size = max(abs(level), SMALLEST)
            gate = max(answers_after(one.step, gates), by_masks / size)
            error = abs(one.loss - level) / size
            if error > worst * gate:
                worst = error / gate
                said = f"loss of batch {one.batch} after {one.step} steps, as timed, off by "
                said += f"{error:.2g} (gate {gate:.2g})"
            continue
        due, level = levels.get(one.batch, (math.inf, math.inf))
        if one.loss is None or not abs(one.due - due) <= reach:
            continue
        size = max(abs(level), SMALLEST)
        slopes = sorted((slope, own.get(one.batch, slope)))
        if one.batch not in own:
            slopes = [slope - apart, slope + apart]
        gaps = [one.loss - level - along * (one.due - due) for along in slopes]
        error = 0.0 if gaps[0] * gaps[1] <= 0 else min(map(abs, gaps)) / size
        way = gates.drift * max(one.due, due) + UNEVEN_STEPS * one.due / one.step
        along = max(map(abs, slopes if one.batch in own else [slope]))
        drifted = along * way + SLOPE * abs(slope * (one.due - due))
        gate = max(gates.answers, by_masks / size) + drifted / size
        if error > worst * gate:
            worst = error / gate
            said = f"loss of batch {one.batch} after {one.step} steps, as timed, off by "
            said += f"{error:.2g} (gate {gate:.2g})"
    return said


def answers_after(step: int, gates: Gates) -> float:
    """How far losses of the same step on the same data may lie apart: rounding carries parameters
    apart, farther with each step.
    """
    return max(gates.answers, min(gates.answers * (1 + step / BEGUN), MOST_ANSWERS))


def unlike_outputs(baseline: CaseRecord, other: CaseRecord, gates: Gates) -> str:
    """Checks outputs of steps with evidence: those of a batch are the same in every round."""
    known: dict[tuple[int, str], Sketch] = {}
    for one in evidence(baseline):
        for name, sketch in one.outputs.items():
            known.setdefault((one.batch, name), sketch)
    worst, said = gates.answers, ""
    errors: dict[str, list[float]] = {}
    for one in evidence(other):
        for name, sketch in one.outputs.items():
            reference = known.get((one.batch, name))
            if reference is None:
                continue
            error = distance(sketch, reference) / max(reference[0], SMALLEST)
            errors.setdefault(name, []).append(error)
            if error > worst:
                worst = error
                said = f"output {name} of batch {one.batch}, as timed, off by {error:.2g} "
                said += f"(gate {gates.answers:.2g})"
    for name, found in errors.items():
        if not said and len(found) >= FEWEST_OUTPUTS:
            together, gate = math.sqrt(fmean(e**2 for e in found)), TOGETHER * gates.answers
            if together > gate:
                said = f"output {name} of all batches together, as timed, off by {together:.2g} "
                said += f"(gate {gate:.2g})"
    return said


def overflows(case: CaseRecord) -> str:
    """Whether too many steps were skipped: a step is skipped only when a loss scale has grown,
    after many steps without an overflow.
    """
    for process in case.processes.values():
        looks: list[Changes | Evidence] = [*process.changes, *(one for _, one in process.evidence)]
        for one in looks:
            if one.skipped > 1 + one.step // STEPS_PER_SKIP:
                return (
                    f"{one.skipped} of {one.step} timed steps made no update, as scaled gradients "
                    "overflowed"
                )
    return ""


def fastest(steps: TimedSteps) -> list[float]:
    """Samples per second of the median process, and of the round that a quarter of the rounds
    exceed: in a mean of all, slow early steps hide that later ones take no time.
    """
    made = sorted(rate for rounds in steps.by_round.values() for rate in rounds.values())
    return [median(steps.processes), made[-1 - len(made) // 4]] if made else []


def share_of_peak(case: CaseRecord, steps: TimedSteps, *, highest: float | None) -> float:
    """The largest MFU that a case has shown by `steps`; 0 if `highest` is not known."""
    shares = [mfu(case, speed, highest, flops=CAUSAL) for speed in fastest(steps)]
    return max((one for one in shares if one is not None), default=0.0)


def implausible(case: CaseRecord, steps: TimedSteps, *, highest: float | None) -> Iterator[str]:
    """What no machine can do whose products reach `highest` FLOPs per second, if that is known, and
    what speaks against the worker's clock. Throughput follows from `steps`. What a causal mask
    discards need not be computed.
    """
    who = case.planned.label
    if (share := share_of_peak(case, steps, highest=highest)) > MOST_MFU:
        yield f"{who}: an MFU of {100 * share:.3g} %, which is more than this machine can do"
    if said := next(filter(None, (clock(case) for clock in CLOCKS)), ""):
        yield f"{who}: {said}"
