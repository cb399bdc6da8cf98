"""Whether two are alike within a margin: two one-sided tests of paired differences, their power,
and how many pairs they would take.

Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

from mbench.stats.intervals import quantile, stdev

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ALIKE_ERROR", "DIFFERENT_ERROR", "WANTED_POWER", "Equivalence", "correlation",
           "equivalence", "joint_power", "misses_differ", "pairs_for_power", "power"]  # fmt: skip

ALIKE_ERROR = 0.05
"""How often two that differ by the margin or more are called alike, at most."""
DIFFERENT_ERROR = 0.025
"""How often two that are within the margin are called different by one figure, at most: a task has
two figures, so that it is twice that for both."""
WANTED_POWER = 0.8
"""How often two that do not differ are to be called alike."""
MOST_PAIRS = 10_000
GRID = 200
FEWEST = 3
"""Pairs of which anything is said."""


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """What paired differences show of a margin. `low` and `high` are the ends of the interval that
    has to lie within the margin, of 90 % confidence; None with fewer than three pairs.
    """

    difference: float
    low: float | None
    high: float | None
    margin: float
    scatter: float
    """The standard deviation of differences."""
    pairs: int
    verdict: str
    """"alike", "different" or "not shown"."""
    power: float | None
    """How often as many pairs show that two are alike which do not differ and scatter so."""


def equivalence(differences: Sequence[float], margin: float) -> Equivalence:
    """Of differences that are all finite."""
    count, mean = len(differences), fmean(differences) if differences else math.nan
    if count < FEWEST:
        return Equivalence(
            difference=mean, low=None, high=None, margin=margin, scatter=math.nan, pairs=count,
            verdict="not shown", power=None,
        )  # fmt: skip
    scatter = stdev(differences)
    error = scatter / math.sqrt(count)
    half = quantile(count - 1, 1 - ALIKE_ERROR) * error
    wide = quantile(count - 1, 1 - DIFFERENT_ERROR / 2) * error  # a scatter can leave either side
    verdict = "not shown"
    if -margin < mean - half and mean + half < margin:
        verdict = "alike"
    elif mean - wide > margin or mean + wide < -margin:
        verdict = "different"
    return Equivalence(
        difference=mean, low=mean - half, high=mean + half, margin=margin, scatter=scatter,
        pairs=count, verdict=verdict, power=power(count, scatter, margin),
    )  # fmt: skip


def power(count: int, scatter: float, margin: float, difference: float = 0.0) -> float:
    """How often `count` pairs show that two are alike whose true difference and scatter are these.

    The mean is normal and independent of the deviation, over whose distribution this is averaged.
    """
    if count < 2:
        return 0.0
    if not scatter:
        return 1.0 if abs(difference) < margin else 0.0
    error, normal = scatter / math.sqrt(count), NormalDist()
    factor = quantile(count - 1, 1 - ALIKE_ERROR)
    found = 0.0
    for share in deviations(count - 1):
        room = margin - factor * error * share
        if room > 0:
            found += normal.cdf((room - difference) / error)
            found -= normal.cdf((-room - difference) / error)
    return found / GRID


@cache
def deviations(freedom: int) -> tuple[float, ...]:
    """Standard deviations of normal samples over the true one: the middles of equally likely parts
    of their distribution.
    """
    from scipy.special import chdtri

    return tuple(
        math.sqrt(float(chdtri(freedom, 1 - (at + 0.5) / GRID)) / freedom) for at in range(GRID)
    )


def joint_power(count: int, figures: Sequence[tuple[float, float]]) -> float:
    """The same of several figures that all have to be alike, each with its scatter and margin, and
    independent of the others.
    """
    return math.prod(power(count, scatter, margin) for scatter, margin in figures)


def pairs_for_power(
    figures: Sequence[tuple[float, float]], wanted: float = WANTED_POWER
) -> int | None:
    """The fewest pairs with that `joint_power`; None if it takes too many."""
    if joint_power(MOST_PAIRS, figures) < wanted:
        return None
    low, high = 1, FEWEST
    while joint_power(high, figures) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = joint_power(middle, figures) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return max(high, FEWEST)


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Of pairs; None of fewer than three, or where one of them does not vary."""
    if len(one) < FEWEST:
        return None
    a, b = fmean(one), fmean(other)
    products = sum((x - a) * (y - b) for x, y in zip(one, other, strict=True))
    squares = sum((x - a) ** 2 for x in one) * sum((y - b) ** 2 for y in other)
    return products / math.sqrt(squares) if squares else None


def misses_differ(one: Sequence[bool], other: Sequence[bool]) -> bool:
    """Whether one misses what the other reaches more often, by the exact test of McNemar (1947) of
    pairs, both sides together wrong at most as often as DIFFERENT_ERROR.
    """
    pairs = list(zip(one, other, strict=True))
    first = sum(a and not b for a, b in pairs)
    second = sum(b and not a for a, b in pairs)
    total, least = first + second, min(first, second)
    tail = sum(math.comb(total, at) for at in range(least + 1)) / 2**total
    return total > 0 and 2 * tail <= DIFFERENT_ERROR
