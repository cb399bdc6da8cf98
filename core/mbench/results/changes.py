"""How far two processes carried parameters apart, whether updates go on as they began, and whether
a part of a model stays where it was loaded.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.results.events import Changes
    from mbench.results.records import CaseRecord

__all__ = ["BEGUN", "FEWEST", "LEAST_SHARE", "SMALLEST", "direction_gap", "distance", "growths",
           "norm_gap", "standstill", "tensor_gaps", "together", "unlike_growth",
           "walked"]  # fmt: skip

SMALLEST = 1e-300
"""What is divided by, at least."""
LEAST_SHARE = 1e-3
"""Of the squares of all changes, that a tensor makes whose own change is looked at."""


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
    """Relative; nothing that has changed where something should is 1."""
    due = together(reference) * times
    return abs(together(found) - due) / due if due else float(together(found) > 0)


def tensor_gaps(
    found: Mapping[str, Sequence[float]],
    reference: Mapping[str, Sequence[float]],
    *,
    times: float,
) -> dict[str, float]:
    """Likewise of each tensor that makes a share of all changes."""
    least = LEAST_SHARE * together(reference) ** 2
    return {
        name: norm_gap({name: found.get(name, (0.0,))}, {name: sketch}, times=times)
        for name, sketch in reference.items()
        if sketch[0] ** 2 > least
    }


def direction_gap(
    found: Mapping[str, Sequence[float]], reference: Mapping[str, Sequence[float]]
) -> float:
    """The estimated norm of the difference of all changes, relative to them."""
    if set(found) != set(reference):
        return float("inf")
    gaps = [distance(found[name], reference[name]) for name in found]
    due = together(reference)
    return math.hypot(*gaps) / due if due else float(any(gaps))


BEGUN = 16
"""Steps that later ones are held against: two turns of all batches, whose gradients differ. For
them gates are made; of fewer steps they are wider."""
UNRELATED = 0.5
"""The power of the due way that steps go which have nothing in common: a random walk. What learns
goes farther, and less far than the due way. Seen of ShuffleNet in fp32, in four frameworks: to the
0.82nd power of it after 130 steps, 0.75 after 380, 0.73 after 800; of ResNet-18: 0.99 after 65."""


class Growth(NamedTuple):
    """Of one process's changes, from its first `BEGUN` steps to its last."""

    begun: int
    steps: int
    due: float
    """Times as far, if gradients stay as they are."""
    grown: float
    """Times as far as the parameters have come."""

    @property
    def power(self) -> float:
        """Of the due way, that has been gone."""
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
    """Of the changes of all parameters: against those of another case, or what is due anyway."""
    if not gate:
        return ""
    known = sorted(growths(baseline), key=lambda one: one.due)
    for found in growths(other):
        said = unbounded(found, gate) if baseline is other else against(found, known, gate)
        if said:
            whom = f"the first {found.begun}" if baseline is other else baseline.planned.label
            return f"updates of {found.steps} timed steps are {said} what those of {whom} foretell"
    return ""


def unbounded(found: Growth, gate: float) -> str:
    """By itself: less far than a random walk, or farther than gradients that stay as they are."""
    times = found.grown / found.due
    least = (1 - gate) * walked(found.due) / found.due
    return "" if least <= times <= 1 + gate else f"{times:.2g} times"


def walked(due: float) -> float:
    """How far steps go that have nothing in common, where constant ones go the way that is due."""
    way: float = due**UNRELATED
    return way


def against(found: Growth, known: Sequence[Growth], gate: float) -> str:
    """Against the process of the other case that has come about as far, along its power of the due
    way; `known` are in the order of theirs. That falls as a model learns, so the gate is as many
    times wider as one's way is longer than the other's, in decades.
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
"""Tensors of a part. Where parameters are in bfloat16, a few hundred of millions of numbers move in
16 steps, one or two of some tensors: honest frameworks differ in one tensor of a part (ResNet-18,
SqueezeNet 1.1, MobileNet v2, ShuffleNet v2, an LSTM, BERT-Base with dropout)."""


def standstill(
    found: Mapping[str, Sequence[float]], reference: Mapping[str, Sequence[float]]
) -> tuple[int, str]:
    """How many tensors moved in `reference` below a name below which none of `found` did: the most
    of all such names, and that name.

    However small a part's share of all changes is, a part that is left out shows.
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
