"""How far apart two processes carried parameters, whether updates go on as they began, and whether
a part of a model stays as it was loaded.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mbench.results.events import Changes
    from mbench.results.evidence import Gates
    from mbench.results.records import CaseRecord

__all__ = ["BEGUN", "FEWEST", "LEAST_SHARE", "SMALLEST", "UNEVEN_STEPS", "carried", "direction_gap",
           "distance", "fewness", "growths", "norm_gap", "standstill", "tensor_gaps", "together",
           "unlike_changes", "unlike_growth", "walked"]  # fmt: skip

SMALLEST = 1e-300
"""The smallest divisor that is used."""
LEAST_SHARE = 1e-3
"""Share of the sum of squares of all changes that a tensor must have for its own change to be
checked."""


def distance(sketch: Sequence[float], other: Sequence[float]) -> float:
    return math.dist(sketch[1:], other[1:])


def together(sketches: Mapping[str, Sequence[float]]) -> float:
    return math.hypot(*(sketch[0] for sketch in sketches.values()))


def norm_gap(
    found: Mapping[str, Sequence[float]],
    reference: Mapping[str, Sequence[float]],
    *,
    times: float = 1.0,
) -> float:
    """Relative gap between the norms of all changes; 1 if nothing changed where something should
    have.
    """
    due = together(reference) * times
    return abs(together(found) - due) / due if due else float(together(found) > 0)


def tensor_gaps(
    found: Mapping[str, Sequence[float]],
    reference: Mapping[str, Sequence[float]],
    *,
    times: float,
) -> dict[str, float]:
    """The `norm_gap` of each tensor that makes up enough of all changes."""
    least = LEAST_SHARE * together(reference) ** 2
    return {
        name: norm_gap({name: found.get(name, (0.0,))}, {name: sketch}, times=times)
        for name, sketch in reference.items()
        if sketch[0] ** 2 > least
    }


def direction_gap(
    found: Mapping[str, Sequence[float]], reference: Mapping[str, Sequence[float]]
) -> float:
    """The estimated norm of the difference of all changes, relative to the reference's norm."""
    if set(found) != set(reference):
        return float("inf")
    gaps = [distance(found[name], reference[name]) for name in found]
    due = together(reference)
    return math.hypot(*gaps) / due if due else float(any(gaps))


BEGUN = 16
"""Number of first steps that later ones are compared with: two turns of all batches, whose
gradients differ. Gates are set for this many steps; for fewer, they are wider."""
UNRELATED = 0.5
"""Exponent of the due distance for unrelated steps: a random walk. A model that learns goes farther
than that, but less far than the due distance. Exponents seen with ShuffleNet in fp32, in four
frameworks: 0.82 after 130 steps, 0.75 after 380, 0.73 after 800; with ResNet-18: 0.99 after 65."""


def fewness(steps: int) -> float:
    """How many times as wide gates for fewer steps are: rounding and masks average out less."""
    return math.sqrt(max(1.0, BEGUN / steps))


def carried(change: Changes, reference: Changes) -> float:
    """How many times as far `change` should reach as `reference`: skipped steps carry nothing."""
    return change.due / reference.due if reference.due else 1.0


class Growth(NamedTuple):
    """Growth of one process's changes from its first `BEGUN` steps to its last."""

    begun: int
    steps: int
    due: float
    """How many times as far the parameters would have come if gradients were constant."""
    grown: float
    """How many times as far the parameters have come."""

    @property
    def power(self) -> float:
        """The exponent of the due distance that gives the distance gone."""
        return math.log(max(self.grown, SMALLEST)) / math.log(self.due)


def growths(case: CaseRecord) -> Iterator[Growth]:
    for process in case.processes.values():
        for data in dict.fromkeys(one.data for one in process.changes):
            if found := growth([one for one in process.changes if one.data == data]):
                yield found


def growth(changes: Sequence[Changes]) -> Growth | None:
    ordered = sorted((one for one in changes if one.step >= BEGUN), key=lambda one: one.step)
    if len(ordered) < 2:
        return None
    first, last = ordered[0], ordered[-1]
    begun = together(first.parameters)
    if not begun or not 0 < first.due < last.due:
        return None
    grown = together(last.parameters) / begun
    return Growth(first.step, last.step, last.due / first.due, grown)


def unlike_growth(baseline: CaseRecord, other: CaseRecord, gate: float | None) -> str:
    """How the growth of all changes differs from another case's, or leaves its own bounds."""
    if not gate:
        return ""
    known = sorted(growths(baseline), key=lambda one: one.due)
    for found in growths(other):
        said = unbounded(found, gate) if baseline is other else against(found, known, gate)
        if said:
            whom = f"the first {found.begun}" if baseline is other else baseline.planned.label
            return f"updates of {found.steps} timed steps are {said} what those of {whom} predict"
    return ""


def unbounded(found: Growth, gate: float) -> str:
    """Growth by itself, if below that of a random walk or above that of constant gradients."""
    times = found.grown / found.due
    least = (1 - gate) * walked(found.due) / found.due
    return "" if least <= times <= 1 + gate else f"{times:.2g} times"


def walked(due: float) -> float:
    """How far unrelated steps go, where steps with constant gradients go the distance `due`."""
    way: float = due**UNRELATED
    return way


def against(found: Growth, known: Sequence[Growth], gate: float) -> str:
    """Compares with the process of the other case that has come about as far, by its exponent.

    `known` is sorted by the distance due. The exponent falls as a model learns, so the gate is
    wider by the factor by which one distance is longer than the other, in decades.
    """
    if not known:
        return ""
    at = bisect_left(known, found.due, key=lambda one: one.due)
    nearest = known[max(0, at - 1) : at + 1]
    reference = min(nearest, key=lambda one: abs(math.log(one.due / found.due)))
    decades = math.log(found.due) / math.log(reference.due)
    limit = gate * max(decades, 1 / decades)
    times = found.grown / found.due**reference.power
    return "" if limit >= 1 or 1 - limit <= times <= 1 / (1 - limit) else f"{times:.2g} times"


FEWEST = 3
"""The fewest tensors of a part that must stand still to be reported. Where parameters are in
bfloat16, a few hundred out of millions of numbers move in 16 steps, only one or two in some
tensors. Honest frameworks differ in one tensor of a part (ResNet-18, SqueezeNet 1.1, MobileNet v2,
ShuffleNet v2, an LSTM, BERT-Base with dropout)."""


def standstill(
    found: Mapping[str, Sequence[float]], reference: Mapping[str, Sequence[float]]
) -> tuple[int, str]:
    """Of all names below which no tensor moved in `found`, the one below which most moved in
    `reference`: their number, and the name.

    A part that is left out shows, however small its share of all changes is.
    """
    moved, due = Counter(parts(found)), Counter(parts(reference))
    return max(((due[name], name) for name in due if not moved[name]), default=(0, ""))


def parts(sketches: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """All names above each tensor that moved."""
    for name, sketch in sketches.items():
        if sketch[0] > 0:
            above, _, _ = name.rpartition(".")
            while above:
                yield above
                above, _, _ = above.rpartition(".")


UNEVEN_STEPS = 12.0
"""By how many steps, out of those on all batches, one process may be ahead of another on one batch:
after the first steps, blocks begin wherever their last batch requires. That is one and a half turns
of eight, as seen with blocks of one to four steps."""
KINDS = ("norm", "tensor", "direction", "statistics")
"""Gates for what has changed after the same steps."""


def unlike_changes(
    baseline: CaseRecord, other: CaseRecord, gates_after: Callable[[int], Gates]
) -> Iterator[str]:
    """Checks the changes of parameters and running statistics after the same number of steps.
    `gates_after` gives the gates for a number of steps.
    """
    known = {
        (change.data, change.step): change
        for process in baseline.processes.values()
        for change in process.changes
    }
    worst: dict[str, float] = {}
    said: dict[str, str] = {}
    for change in (change for p in other.processes.values() for change in p.changes):
        reference = known.get((change.data, change.step))
        if reference is None:
            continue
        gates = gates_after(change.step)
        same = change.skipped == reference.skipped
        times = carried(change, reference)
        gaps = tensor_gaps(change.parameters, reference.parameters, times=times)
        tensor, part = max(((gap, name) for name, gap in gaps.items()), default=(0.0, ""))
        errors = {
            "norm": norm_gap(change.parameters, reference.parameters, times=times),
            "tensor": tensor,
            "direction": direction_gap(change.parameters, reference.parameters),
            "statistics": direction_gap(change.statistics, reference.statistics),
        }
        names = {"tensor": f"updates of {part}", "statistics": "running statistics"}
        still, above = standstill(change.parameters, reference.parameters)
        if gates.norm is not None and still >= max(FEWEST, 1 + worst.get("standstill", 0)):
            worst["standstill"] = still
            said["standstill"] = (
                f"{above} stands still: {still} of its tensors should have moved in {change.step} "
                "timed steps"
            )
        few = fewness(change.step)
        more = allowances(BEGUN if change.data else change.step)
        for kind, error in errors.items():
            limit = getattr(gates, kind) if same or kind != "direction" else None
            if limit is not None and not error <= max(
                few * limit + more[kind], worst.get(kind, 0.0)
            ):
                worst[kind] = error
                what = names.get(kind, f"updates, by {kind},")
                said[kind] = f"{what} after {change.step} timed steps off by {error:.2g}"
    yield from said.values()


def allowances(step: int) -> dict[str, float]:
    """How much farther apart changes may lie if steps were not on the same batches.

    Gradients of batches are assumed to be orthogonal and of equal size, which is the worst that
    honest ones can be. Running statistics remember only the last few batches.
    """
    if step <= BEGUN:
        return dict.fromkeys(KINDS, 0.0)
    uneven = UNEVEN_STEPS / step
    norm = uneven**2 / 2
    return {"norm": norm, "tensor": norm, "direction": uneven, "statistics": math.inf}
