"""Sums of parts of a step, with their intervals over sets of processes.

Parts measured in the same sets are added up within each set, so that the interval includes how they
vary together. Parts measured in other sets are independent of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from mbench import stats
from mbench.explain.sides import INPUT, Side
from mbench.explain.summary import Interval, Overlap, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.explain.sides import Sets

__all__ = ["WHOLE", "Both", "Groups", "Table", "Term", "combined", "common", "negligible",
           "overlaps_of", "shared", "waiting", "whole_step"]  # fmt: skip

Groups = Sequence[Sequence[float]]
"""Milliseconds for each set of processes, in groups of sets."""
Both = tuple[Side, Side]
WHOLE = "a whole step"
NEGLIGIBLE = 0.01
"""A share of the longer step. Deviations below it count as none: stages are then additive, and
parts do not overlap, however precise the measurement."""


class Term(NamedTuple):
    """Something measured for both frameworks, and how often it counts."""

    weight: float
    base: Sets
    other: Sets


@dataclass(frozen=True)
class Table:
    """Makes the rows of one table, whose intervals hold simultaneously: each of the `count`
    intervals is computed for a higher confidence (Bonferroni).
    """

    count: int

    def row(self, name: str, base: Groups, other: Groups, *, times: int | None = None) -> Row:
        return Row(
            name=name,
            times=times,
            baseline_ms=sum(map(fmean, base)),
            other_ms=sum(map(fmean, other)),
            difference_ms=self.difference(base, other),
        )

    def difference(self, base: Groups, other: Groups) -> Interval:
        return self.interval(
            [
                [more - less for less, more in zip(*of, strict=True)]
                for of in zip(base, other, strict=True)
            ]
        )

    def interval(self, milliseconds: Groups) -> Interval:
        confidence = 1 - (1 - stats.CONFIDENCE) / max(1, self.count)
        found = stats.sum_interval(milliseconds, confidence=confidence)
        assert found.low is not None  # every table has enough sets
        assert found.high is not None
        return Interval(found.value, found.low, found.high, found.leaves_out(0.0))


def combined(terms: Iterable[Term]) -> tuple[Groups, Groups]:
    """The sum of the terms in each framework. Terms that share sets of processes form one group;
    each has been measured in enough sets.
    """
    groups: list[tuple[set[int], list[Term]]] = []
    for term in terms:
        own = term.base.keys() & term.other.keys()
        for at, (known, members) in enumerate(groups):
            if len(known & own) >= stats.FEWEST:
                groups[at] = (known & own, [*members, term])
                break
        else:
            groups.append((set(own), [term]))
    base: list[list[float]] = []
    other: list[list[float]] = []
    for sets, members in groups:
        base.append([sum(one.weight * one.base[at] for one in members) for at in sorted(sets)])
        other.append([sum(one.weight * one.other[at] for one in members) for at in sorted(sets)])
    return base, other


def whole_step(groups: Sequence[Sequence[int]], both: Both) -> Row:
    return Table(1).row(WHOLE, *(shared(groups, one.whole) for one in both))


def waiting(groups: Sequence[Sequence[int]], both: Both, *, count: int) -> Row | None:
    """Waiting for images, in a table of `count` rows; None if batches stay on the device."""
    if not any(one.input for one in both):
        return None
    return Table(count).row(INPUT, *(shared(groups, one.waits) for one in both))


def shared(groups: Sequence[Sequence[int]], steps: Sets) -> Groups:
    """Steps by group, weighted so that the sum of the groups' means is the mean over all sets."""
    total = sum(map(len, groups))
    return [[len(sets) / total * steps[at] for at in sets] for sets in groups]


def common(measured: Iterable[Sets]) -> list[int]:
    """The sets in which everything in `measured` was measured."""
    return sorted(set.intersection(*(set(sets) for sets in measured)))


def overlaps_of(
    level: str, both: Both, remainders: Sequence[Groups], *, of: str = WHOLE
) -> list[Overlap]:
    """The frameworks in which all parts of a level together take longer than their whole."""
    found = []
    for one, groups in zip(both, remainders, strict=True):
        beyond = Table(len(both)).interval([[-value for value in values] for values in groups])
        if beyond.low > 0 and beyond.value > negligible(both):
            found.append(Overlap(framework=one.label, level=level, of=of, beyond_ms=beyond))
    return found


def negligible(both: Both) -> float:
    return NEGLIGIBLE * max(fmean(one.whole.values()) for one in both)
