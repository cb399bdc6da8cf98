"""What is known beforehand of how far pairs of processes lie apart, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from scipy.special import nctdtrinc, stdtrit

from mbench.stats.intervals import CONFIDENCE, FEWEST, RANKED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.stats.intervals import Interval

__all__ = ["Scatter", "detectable", "known_scatter", "pairs_for"]

MOST_FREEDOM = 4.0
"""Values that scatter known from another day may stand for. It was seen to vary by about a third
from day to day, and a standard deviation of 4 degrees of freedom is as uncertain: 1 / sqrt(2 x 4)
(tests and benchmarks/coverage.py vary it so)."""
EFFICIENCY = 0.37
"""Of the median deviation against the mean square, on normal values; no outlier moves it."""
NORMAL = 0.6745
"""The median deviation of normal values, in standard deviations."""
POWER = 0.9
"""Of normal values, so that about 0.8 is left where one pair in 25 lies far off, as is measured."""


@dataclass(frozen=True)
class Scatter:
    """The variance of a pair's log ratio, and how many degrees of freedom it is worth."""

    variance: float
    freedom: float


def known_scatter(calibrations: Sequence[Sequence[float]]) -> Scatter | None:
    """Of a pair of two frameworks, from the ratios of each framework's identical processes.

    Identical processes differ by twice the variance of one, so that a pair of two frameworks has
    the mean of both frameworks' variances. Their true ratio is 1, and none of the scatter is lost
    to estimating a mean. One framework tells what to expect but nothing of the other, and is worth
    no degree of freedom. None where neither is known.
    """
    known = [[abs(math.log(ratio)) for ratio in ratios] for ratios in calibrations if ratios]
    if not known:
        return None
    variances = [(median(deviations) / NORMAL) ** 2 for deviations in known]
    variance = fmean(variances)
    if len(known) == 1 or not variance:
        return Scatter(variance, 0.0)
    spread = sum(
        side**2 / (EFFICIENCY * len(deviations))
        for side, deviations in zip(variances, known, strict=True)
    )
    return Scatter(variance, min(MOST_FREEDOM, sum(variances) ** 2 / spread))


def detectable(scatter: Scatter, *, pairs: int) -> float | None:
    """The difference that as many pairs show in 80 of 100 comparisons; relative. None below three.

    That is where noncentral t exceeds the quantile of the interval often enough. Ranks, of ten
    pairs and more, find nearly the same.
    """
    if pairs < FEWEST:
        return None
    freedom = pairs - 1 + (scatter.freedom if pairs < RANKED else 0.0)
    quantile = float(stdtrit(freedom, 0.5 + CONFIDENCE / 2))
    shift = float(nctdtrinc(freedom, 1 - POWER, quantile))
    return math.expm1(shift * math.sqrt(scatter.variance / pairs))


def pairs_for(interval: Interval, *, half_width: float, confidence: float) -> int | None:
    """About how many pairs it takes for that relative half-width, as they scatter in `interval`.

    None where the interval has no ends. Never fewer than three.
    """
    if interval.low is None or interval.high is None:
        return None
    made = interval.replicates
    reach = math.log(interval.high / interval.low) / 2
    scatter = reach * math.sqrt(made) / float(stdtrit(made - 1, 0.5 + CONFIDENCE / 2))
    count = FEWEST
    while float(stdtrit(count - 1, 0.5 + confidence / 2)) * scatter > half_width * math.sqrt(count):
        count += 1 + count // 50
    return count
