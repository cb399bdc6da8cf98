"""Pairs of processes that took turns: what each says about the ratio, and what all say together."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from mbench.stats.intervals import (
    CONFIDENCE,
    FEWEST,
    NORMAL,
    RANKED,
    Interval,
    Scatter,
    geometric_interval,
    noise_within,
    noncentral_shift,
    quantile,
    stdev,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Rounds = Mapping[int, float]
    from collections.abc import Mapping

    from mbench.stats.intervals import Interval, Scatter

__all__ = ["Pair", "Ratio", "between_builds", "detectable", "pair_of", "pairs_for", "pairs_of",
           "ratio"]  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """One process of either framework, over the rounds that both have.

    `total` is the ratio of steps per second, which is what a user gets; `median` is the ratio of
    the middle round, which bursts in a few rounds do not move; `error` is the variance that noise
    between its `rounds` leaves in the total's logarithm.
    """

    total: float
    median: float
    error: float
    rounds: int


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one framework is as another, by its `pairs`, at least one.

    `known` is their scatter as known before the run.
    """

    pairs: Sequence[Pair]
    known: Scatter | None = None

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """The interval of totals, which are ratios of steps per second."""
        return geometric_interval(
            [pair.total for pair in self.pairs],
            confidence=confidence,
            known=self.known,
            within=self.within,
        )

    @cached_property
    def within(self) -> Scatter | None:
        """The noise between rounds that is left in a pair; None if fewer than two have several."""
        repeated = [pair for pair in self.pairs if pair.rounds > 1]
        freedom = sum(pair.rounds - 1 for pair in repeated)
        return noise_within([pair.error for pair in repeated], freedom=freedom)

    @cached_property
    def median(self) -> float:
        """The centre of the pairs' middle rounds."""
        return geometric_interval([pair.median for pair in self.pairs]).value

    @cached_property
    def far_off(self) -> int:
        """Number of pairs far from the others: beyond three standard deviations of most of them.

        An interval computed from ranks describes the other pairs.
        """
        if len(self.pairs) < RANKED:
            return 0
        logs = [math.log(pair.total) for pair in self.pairs]
        middle = median(logs)
        apart = [abs(log - middle) for log in logs]
        limit = 3 * median(apart) / NORMAL
        return sum(value > limit for value in apart)

    def depends_on_stalls(self, interval: Interval) -> bool:
        """Whether totals and middle rounds are further apart than the interval reaches."""
        if interval.low is None or interval.high is None:
            return False
        reach = math.log(interval.high / interval.low) / 2
        return abs(math.log(self.median / interval.value)) > reach


def pair_of(
    baseline: Rounds, other: Rounds, *, totals: tuple[float, float] | None = None
) -> Pair | None:
    """A pair from throughputs by round, or other figures where higher is better; None if there is
    no common round and no total is given.

    `totals` are the figures of all rounds together. For throughputs they are harmonic means, since
    a process's blocks have the same number of steps.
    """
    rounds = sorted(baseline.keys() & other.keys())
    if not rounds:
        if totals is None:
            return None
        total = totals[1] / totals[0]
        return Pair(total, total, 0.0, 1)
    sides = [[side[number] for number in rounds] for side in (baseline, other)]
    if totals is None:
        base, new = (len(side) / math.fsum(1 / rate for rate in side) for side in sides)
        totals = base, new
    middle = median(math.log(new / base) for base, new in zip(*sides, strict=True))
    # For each round, how much longer than usual the baseline took, beyond what the other did.
    shares = [[total / rate for rate in side] for total, side in zip(totals, sides, strict=True)]
    beyond = [base - new for base, new in zip(*shares, strict=True)]
    error = stdev(beyond) ** 2 / len(rounds) if len(rounds) > 1 else 0.0
    return Pair(totals[1] / totals[0], math.exp(middle), error, len(rounds))


def pairs_of(baseline: Mapping[int, Rounds], other: Mapping[int, Rounds]) -> list[Pair]:
    """Pairs of all processes with common rounds; both map process -> round -> throughput."""
    found = (
        pair_of(baseline[process], other[process])
        for process in sorted(baseline.keys() & other.keys())
    )
    return [pair for pair in found if pair]


def ratio(
    baseline: Mapping[int, Rounds],
    other: Mapping[int, Rounds],
    *,
    known: Scatter | None = None,
) -> Ratio | None:
    """The ratio over all process pairs, which are the replicates; None if there are none."""
    pairs = pairs_of(baseline, other)
    return Ratio(pairs, known) if pairs else None


def between_builds(
    baseline: Mapping[int, Mapping[int, float]],
    other: Mapping[int, Mapping[int, float]],
    *,
    begins: Mapping[int, Sequence[int]],
) -> float | None:
    """The standard deviation of a pair's log ratio from build to build, including rounds' noise.

    `baseline` and `other` map process -> round -> throughput, `begins` gives the first round of
    each build except the first. Differences between processes are removed. None if no pair has two
    builds.
    """
    squares, freedom = 0.0, 0
    for process in baseline.keys() & other.keys():
        parts: dict[int, list[int]] = {}
        for at in sorted(baseline[process].keys() & other[process].keys()):
            parts.setdefault(bisect_right(begins.get(process, ()), at), []).append(at)
        logs = []
        for rounds in parts.values():
            pair = pair_of(
                *({at: side[process][at] for at in rounds} for side in (baseline, other))
            )
            logs += [math.log(pair.total)] if pair else []
        if len(logs) > 1:
            squares += (len(logs) - 1) * stdev(logs) ** 2
            freedom += len(logs) - 1
    return math.sqrt(squares / freedom) if freedom else None


MOST_PAIRS = 500
POWER = 0.9
"""For normal values, so that about 0.8 remains if one pair in 25 is far off, as was measured."""


def detectable(scatter: Scatter, *, pairs: int) -> float | None:
    """The relative difference that this many pairs show in 80 of 100 comparisons; None for fewer
    than three pairs.

    It is the one for which noncentral t exceeds the interval's quantile often enough. Ranks, with
    ten pairs and more, find nearly the same.
    """
    if pairs < FEWEST:
        return None
    freedom = pairs - 1 + (scatter.freedom if pairs < RANKED else 0.0)
    least = quantile(freedom, 0.5 + CONFIDENCE / 2)
    shift = noncentral_shift(freedom, 1 - POWER, least)
    return math.expm1(shift * math.sqrt(scatter.variance / pairs))


def pairs_for(interval: Interval, *, half_width: float, confidence: float) -> int | None:
    """About how many pairs that relative half-width takes, with the scatter of `interval`.

    The interval must have ends. Never fewer than three; None if the number is impractical.
    """
    assert interval.low is not None
    assert interval.high is not None
    made = interval.replicates
    reach = (math.log(interval.high) - math.log(interval.low)) / 2
    scatter = reach * math.sqrt(made) / quantile(made - 1, 0.5 + CONFIDENCE / 2)
    for count in range(FEWEST, MOST_PAIRS + 1):
        if quantile(count - 1, 0.5 + confidence / 2) * scatter <= half_width * math.sqrt(count):
            return count
    return None
