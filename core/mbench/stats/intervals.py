"""Confidence intervals of a centre, over figures of fresh processes or of pairs of them; how much
these scatter, and how precisely that is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CONFIDENCE", "FEWEST", "RANKED", "STOPPED_CONFIDENCE", "Interval", "Scatter", "below",
           "geometric_interval", "known_scatter", "noise_within", "noncentral_shift",
           "quantile", "ranked_interval", "stdev", "sum_interval"]  # fmt: skip

# Student's distribution. SciPy is imported on first use: that takes half a second.


def below(freedom: float, value: float) -> float:
    """The share that lies below `value`."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


def quantile(freedom: float, share: float) -> float:
    """The value below which `share` lies."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def noncentral_shift(freedom: float, share: float, value: float) -> float:
    """The noncentrality of the distribution that has `share` below `value`."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(freedom, share, value))


@cache
def median_of_f(above: float, below: float) -> float:
    """Median of the distribution of two variances' ratio, by the degrees of freedom of each."""
    from scipy.special import fdtri

    return float(fdtri(above, below, 0.5))


CONFIDENCE = 0.95
STOPPED_CONFIDENCE = 0.965
"""Used for an interval whose own width decided when measuring stopped. It may be narrow by luck, so
this makes it hold the truth as often as CONFIDENCE says (benchmarks/coverage.py)."""
FEWEST = 3
"""Fewest replicates for an interval. With two, it is narrow only by luck: if it is within 1 %, it
holds the truth one time in five."""
RANKED = 10
"""From this many replicates on, the interval is computed from ranks: one pair in 25 is far off, and
widens Student's interval. With fewer values, ranks show too little."""
MANY = 100
"""From this many values on, ranks use the normal approximation."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval; ends are None if there are too few replicates."""

    value: float
    low: float | None
    high: float | None
    replicates: int

    @property
    def half_width(self) -> float | None:
        """Half the width, relative to the estimate."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2 / self.value

    def leaves_out(self, value: float) -> bool:
        return self.low is not None and self.high is not None and not self.low <= value <= self.high


def stdev(values: Sequence[float]) -> float:
    """The sample's standard deviation; the standard library's exact one takes 20 times as long."""
    center = fmean(values)
    return math.sqrt(math.fsum((value - center) ** 2 for value in values) / (len(values) - 1))


def geometric_interval(
    values: Sequence[float],
    *,
    confidence: float = CONFIDENCE,
    known: Scatter | None = None,
    within: Scatter | None = None,
) -> Interval:
    """The interval of the centre of positive `values`, one per process or pair, by logarithms.

    Processes are the replicates because each has its own offset, which no number of rounds within
    it removes; the scatter of their values includes both levels of noise. Up to nine values, this
    is Student's interval of the geometric mean, with their variance pooled with the `known` one,
    unless that is from a calmer day. From ten values on, it is computed from ranks. It is never
    narrower than the interval that noise `within` processes alone would give.
    """
    logs, count = [math.log(value) for value in values], len(values)
    if count < FEWEST:
        return Interval(math.exp(fmean(logs)), None, None, count)
    ranked = ranked_interval(logs, confidence) if count >= RANKED else None
    center, low, high = ranked or student_interval(logs, confidence, known)
    if within:
        reach = within.reach(confidence) / math.sqrt(count)
        low, high = min(low, center - reach), max(high, center + reach)
    return Interval(math.exp(center), math.exp(low), math.exp(high), count)


def student_interval(
    values: Sequence[float], confidence: float, known: Scatter | None
) -> tuple[float, float, float]:
    """The mean of at least three values, and the ends of its interval."""
    center, count = fmean(values), len(values)
    seen = Scatter(stdev(values) ** 2, count - 1.0)
    if known is not None and not seen.contradicts(known):
        seen = seen.pooled(known)
    reach = seen.reach(confidence) / math.sqrt(count)
    return center, center - reach, center + reach


def sum_interval(groups: Sequence[Sequence[float]], *, confidence: float = CONFIDENCE) -> Interval:
    """The interval of the sum of independent groups' means, with sets of processes as replicates.

    By Welch and Satterthwaite; for a single group it is Student's. It has no ends if a group has
    fewer than three values.
    """
    fewest = min(map(len, groups))
    center = math.fsum(map(fmean, groups))
    if fewest < FEWEST:
        return Interval(center, None, None, fewest)
    parts = [(stdev(values) ** 2 / len(values), len(values) - 1.0) for values in groups]
    spread = math.fsum(part for part, _ in parts)
    if not spread:
        return Interval(center, center, center, fewest)
    freedom = spread**2 / math.fsum(part**2 / of for part, of in parts)
    reach = Scatter(spread, freedom).reach(confidence)
    return Interval(center, center - reach, center + reach, fewest)


def ranked_interval(
    values: Sequence[float], confidence: float
) -> tuple[float, float, float] | None:
    """Wilcoxon's signed-rank interval, exact: no outlier moves or widens it.

    Hodges and Lehmann's centre and both ends; None if there are too few values for that level.

    The ends are order statistics of the means of all pairs of values, including each value with
    itself (Hollander, Wolfe & Chicken 2014, Nonparametric Statistical Methods, 3.3).
    """
    count = len(values)
    if count > MANY:
        return _ranked_interval_of_many(values, confidence)
    out = _left_out(count, 1 - confidence)
    if not out:
        return None
    means = sorted((x + y) / 2 for at, x in enumerate(values) for y in values[at:])
    return median(means), means[out - 1], means[-out]


def _ranked_interval_of_many(
    values: Sequence[float], confidence: float
) -> tuple[float, float, float]:
    """The interval of `ranked_interval`, by the normal approximation and without computing all
    means, whose number grows with the square of the number of values.
    """
    import numpy as np

    ordered, count = np.sort(np.asarray(values, dtype=float)), len(values)
    sums = count * (count + 1) // 2
    scatter = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    out = int(sums / 2 - 0.5 - NormalDist().inv_cdf(0.5 + confidence / 2) * scatter) + 1
    places = np.arange(count)

    def mean_of_rank(rank: int) -> float:
        """The mean that has `rank` - 1 means below it, to the precision of the values."""
        low, high = float(ordered[0]), float(ordered[-1])
        while low < (middle := (low + high) / 2) < high:
            below = np.searchsorted(ordered, 2 * middle - ordered, side="right") - places
            low, high = (low, middle) if below.clip(min=0).sum() >= rank else (middle, high)
        return high

    center = (mean_of_rank((sums + 1) // 2) + mean_of_rank(sums // 2 + 1)) / 2
    return center, mean_of_rank(out), mean_of_rank(sums + 1 - out)


@cache
def _left_out(count: int, alpha: float) -> int:
    """Which mean, counted from either end, ends the interval: a tail has at most alpha / 2. 0 if
    there are too few values.

    The chance of each sum of signed ranks is built up rank by rank: each rank counts or not, with a
    chance of one half.
    """
    import numpy as np  # with NumPy, 100 values take a millisecond

    chances = np.ones(1)
    for rank in range(1, count + 1):
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] += chances / 2
        longer[rank:] += chances / 2
        chances = longer
    return int(np.count_nonzero(2 * np.cumsum(chances) <= alpha * (1 + 1e-12)))


MOST_FREEDOM = 4.0
"""The most degrees of freedom that scatter known from another day is worth. It was seen to vary by
about a third from day to day, and a standard deviation with 4 degrees of freedom is as uncertain:
1 / sqrt(2 x 4) (tests and benchmarks/coverage.py vary it by that much)."""
EFFICIENCY = 0.37
"""Efficiency of the median deviation relative to the mean square for normal values. Outliers do not
move the median deviation."""
WITHIN_FREEDOM = 2.0
"""Degrees of freedom that noise within replicates is worth. Rounds have many more, but that noise
is only part of what scatters pairs. With all of them, the narrowest quarter of intervals of three
pairs held the truth in 92 %, with these in 97 % (benchmarks/coverage.py)."""
NORMAL = 0.6745
"""The median deviation of normal values, in standard deviations."""


@dataclass(frozen=True)
class Scatter:
    """The variance of a pair's log ratio, and how many degrees of freedom it is worth."""

    variance: float
    freedom: float

    def contradicts(self, known: Scatter) -> bool:
        """Whether values scatter more than expected from `known`: above the median of F.

        Pooled with a calmer day's scatter, they would name a false winner in 13 to 22 of 100
        comparisons of three pairs (benchmarks/coverage.py --calm).
        """
        if not known.freedom:
            return False
        return self.variance > known.variance * median_of_f(self.freedom, known.freedom)

    def pooled(self, other: Scatter) -> Scatter:
        """Both together, weighted by degrees of freedom, of which this one must have some."""
        freedom = self.freedom + other.freedom
        squares = self.freedom * self.variance + other.freedom * other.variance
        return Scatter(squares / freedom, freedom)

    def reach(self, confidence: float) -> float:
        """How far Student's interval of a single value reaches to either side of it."""
        return quantile(self.freedom, 0.5 + confidence / 2) * math.sqrt(self.variance)


def noise_within(errors: Sequence[float], *, freedom: float) -> Scatter | None:
    """How much replicates would scatter from the noise within them alone.

    `errors` are the variances that this noise leaves in each one's logarithm. The result is worth
    WITHIN_FREEDOM, but at most `freedom`, its own degrees of freedom. None for fewer than two.
    """
    if len(errors) < 2:
        return None
    return Scatter(fmean(errors), min(freedom, WITHIN_FREEDOM * (len(errors) - 1)))


def known_scatter(calibrations: Sequence[Sequence[float]]) -> Scatter | None:
    """Scatter of a pair of two frameworks, from ratios of each framework's identical processes.

    The log ratio of two identical processes has twice the variance of one, so the variance for a
    pair of two frameworks is the mean of both frameworks' variances. The true ratio of identical
    processes is 1, so no degree of freedom is lost to estimating a mean. If only one framework is
    known, it shows what to expect but nothing about the other, and is worth no degree of freedom.
    None if neither is known.
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
