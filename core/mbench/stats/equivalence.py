"""Whether two things are alike within a margin: two one-sided tests of paired differences, their
power, and how many pairs they would take.

Schuirmann 1987, "A comparison of the two one-sided tests procedure and the power approach".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.stats.intervals import quantile, stdev

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ALIKE_ERROR", "DIFFERENT_ERROR", "FEWEST", "WANTED_POWER", "Equivalence",
           "correlation", "equivalence", "estimated_power", "misses_differ", "pairs_for_power",
           "power"]  # fmt: skip

ALIKE_ERROR = 0.05
"""How often, at most, two things that differ by the margin or more are called alike."""
DIFFERENT_ERROR = 0.025
"""How often, at most, two things that are within the margin are called different by one figure. A
task has two figures, so the error is twice that for both."""
WANTED_POWER = 0.8
"""How often two things that do not differ should be called alike."""
MOST_PAIRS = 10_000
GRID, FREE_GRID = 200, 64
"""Numbers of equally likely parts of a standard deviation's distribution to average over."""
FEWEST = 2
"""Fewest pairs that allow any statement."""


@dataclass(frozen=True, kw_only=True)
class Equivalence:
    """What paired differences show about a margin. `low` and `high` are the ends of the 90 %
    confidence interval that has to lie within the margin; None with fewer than FEWEST pairs.
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
    """How often this many pairs with such scatter show that two that do not differ are alike, as
    estimated from these pairs: see `estimated_power`."""


def equivalence(differences: Sequence[float], margin: float) -> Equivalence:
    """Tests differences, which must all be finite."""
    count, mean = len(differences), fmean(differences) if differences else math.nan
    if count < FEWEST:
        return Equivalence(
            difference=mean, low=None, high=None, margin=margin, scatter=math.nan, pairs=count,
            verdict="not shown", power=None,
        )  # fmt: skip
    scatter = stdev(differences)
    error = scatter / math.sqrt(count)
    half = quantile(count - 1, 1 - ALIKE_ERROR) * error
    wide = quantile(count - 1, 1 - DIFFERENT_ERROR / 2) * error  # scatter can go either way
    verdict = "not shown"
    if -margin < mean - half and mean + half < margin:
        verdict = "alike"
    elif mean - wide > margin or mean + wide < -margin:
        verdict = "different"
    return Equivalence(
        difference=mean, low=mean - half, high=mean + half, margin=margin, scatter=scatter,
        pairs=count, verdict=verdict, power=estimated_power(differences, margin),
    )  # fmt: skip


def estimated_power(differences: Sequence[float], margin: float) -> float:
    """How often this many pairs show that two that do not differ are alike, estimated from them.

    A few pairs often scatter much less than many do, so the power at their own deviation is too
    high on average. Instead, this is the chance that pairs with the same sum of squares, but in a
    random direction, are called alike. If the two do not differ, its mean over all samples is the
    power (Rao and Blackwell). If they do differ, it is too low.
    """
    from scipy.special import betainc

    count, squares = len(differences), sum(x * x for x in differences)
    if not squares:
        return 1.0
    # A mean is sin(a) sqrt(squares / count), and its error cos(a) of that over sqrt(count - 1).
    # The upper end of the interval is a sine, too, which exceeds the margin between two angles.
    factor = quantile(count - 1, 1 - ALIKE_ERROR) / math.sqrt(count - 1)
    most, at = math.hypot(1, factor), math.atan2(1, factor)
    share = margin / math.sqrt(squares / count) / most
    if share >= 1:
        return 1.0
    aside = math.acos(share)

    def below(angle: float) -> float:
        inside = min(max(angle, 0.0), math.pi / 2)
        return float(betainc(0.5, (count - 1) / 2, math.sin(inside) ** 2))

    return below(at - aside) + 1 - below(at + aside)


def power(count: int, scatter: float, margin: float) -> float:
    """How often `count` pairs with a known scatter show that two that do not differ are alike.

    The mean is normal and independent of the deviation; this averages over the latter's
    distribution.
    """
    if not scatter:
        return 1.0
    return powers(count, [scatter], margin)


def powers(count: int, scatters: Sequence[float], margin: float) -> float:
    """`power`, averaged over several scatters that are equally likely."""
    import numpy as np
    from scipy.special import chdtri, ndtr

    share = np.sqrt(chdtri(count - 1, 1 - (np.arange(GRID) + 0.5) / GRID) / (count - 1))
    error = np.asarray(scatters)[:, None] / math.sqrt(count)
    room = margin / error - quantile(count - 1, 1 - ALIKE_ERROR) * share
    return float(np.where(room > 0, 2 * ndtr(room) - 1, 0.0).mean())


def pairs_for_power(
    figures: Sequence[tuple[float, float]], pairs: int, wanted: float = WANTED_POWER
) -> int | None:
    """The fewest pairs that show, with that power, that two that do not differ are alike; None if
    it takes too many.

    Each of the `figures`, a scatter seen in `pairs` pairs and a margin, has to be alike; they are
    independent. The power is reached on average over the true scatters that are likely, given the
    seen one.
    """
    import numpy as np
    from scipy.special import chdtri

    freedom = pairs - 1
    off = np.sqrt(chdtri(freedom, 1 - (np.arange(FREE_GRID) + 0.5) / FREE_GRID) / freedom)
    likely = [((scatter / off).tolist(), margin) for scatter, margin in figures if scatter]

    def reached(count: int) -> bool:
        return math.prod([powers(count, *figure) for figure in likely]) >= wanted

    if not reached(MOST_PAIRS):
        return None
    low, high = FEWEST - 1, FEWEST
    while not reached(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """The correlation of pairs; None for fewer than three, or if one side does not vary."""
    if len(one) < 3:
        return None
    a, b = fmean(one), fmean(other)
    products = sum((x - a) * (y - b) for x, y in zip(one, other, strict=True))
    squares = sum((x - a) ** 2 for x in one) * sum((y - b) ** 2 for y in other)
    return products / math.sqrt(squares) if squares else None


def misses_differ(one: Sequence[bool], other: Sequence[bool]) -> bool:
    """Whether one side misses what the other reaches more often than the reverse, by McNemar's
    exact two-sided test of pairs (1947), which is wrong at most as often as DIFFERENT_ERROR.
    """
    pairs = list(zip(one, other, strict=True))
    first = sum(a and not b for a, b in pairs)
    second = sum(b and not a for a, b in pairs)
    total, least = first + second, min(first, second)
    tail = sum(math.comb(total, at) for at in range(least + 1)) / 2**total
    return total > 0 and 2 * tail <= DIFFERENT_ERROR
