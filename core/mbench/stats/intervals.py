"""Confidence intervals of a centre, over figures of fresh processes or of pairs of them; how far
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

# Of Student's distribution. SciPy is loaded when it is first asked for: it takes half a second.


def below(freedom: float, value: float) -> float:
    """The share that lies below `value`."""
    from scipy.special import stdtr

    return float(stdtr(freedom, value))


def quantile(freedom: float, share: float) -> float:
    """The value below which `share` lies."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, share))


def noncentral_shift(freedom: float, share: float, value: float) -> float:
    """By how much the distribution is shifted of which `share` lies below `value`."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(freedom, share, value))


@cache
def median_of_f(above: float, below: float) -> float:
    """Of the distribution of the ratio of two variances, by the degrees of freedom of each."""
    from scipy.special import fdtri

    return float(fdtri(above, below, 0.5))


CONFIDENCE = 0.95
STOPPED_CONFIDENCE = 0.965
"""By which an interval is computed whose own width decided when measuring stopped, so that it holds
the truth as often as CONFIDENCE says: it was narrow by luck too (benchmarks/coverage.py)."""
FEWEST = 3
"""Replicates of an interval. That of two is narrow by luck alone: where it is within 1 %, it holds
the truth once in five times."""
RANKED = 10
"""Replicates from which on ranks make the interval: one pair in 25 lies far off, and Student's
interval grows with those. Of fewer values ranks tell too little."""
MANY = 100
"""Values from which on ranks are taken by the normal approximation."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval; no ends where there are too few replicates."""

    value: float
    low: float | None
    high: float | None
    replicates: int

    @property
    def half_width(self) -> float | None:
        """Relative to the estimate."""
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
    """Of the centre of positive `values`, one per fresh process or pair, by their logarithms.

    Processes are the replicates because each carries an offset of its own that no number of
    rounds within it removes; the scatter of their values holds both levels of noise. Up to nine
    values it is Student's interval of the geometric mean, by their variance pooled with what is
    `known`, unless that is of a calmer day. From ten values on it is made by ranks. It is never
    narrower than the one by noise `within` processes alone, as far as that scatters each of them.
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
    """The mean of three values at least, and the ends of its interval."""
    center, count = fmean(values), len(values)
    seen = Scatter(stdev(values) ** 2, count - 1.0)
    if known is not None and not seen.contradicts(known):
        seen = seen.pooled(known)
    reach = seen.reach(confidence) / math.sqrt(count)
    return center, center - reach, center + reach


def sum_interval(groups: Sequence[Sequence[float]], *, confidence: float = CONFIDENCE) -> Interval:
    """Of the sum of the means of independent groups, whose replicates are sets of processes.

    By Welch and Satterthwaite; of a single group it is Student's. None where a group has too few.
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

    Hodges and Lehmann's centre and both ends; None where so few values show no such level.

    The ends are order statistics of the means of all pairs of values, each value with itself too
    (Hollander, Wolfe & Chicken 2014, Nonparametric Statistical Methods, 3.3).
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
    """The same, by the normal approximation and without making all means, whose number grows with
    the square of the values.
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
    """Which mean from either end is the interval's: as many sums have a tail of alpha / 2 at most.

    The chance of each sum of signed ranks, by taking in one rank after the other: it counts or not,
    each with a chance of one half.
    """
    import numpy as np  # with which 100 values take a millisecond

    chances = np.ones(1)
    for rank in range(1, count + 1):
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] += chances / 2
        longer[rank:] += chances / 2
        chances = longer
    return int(np.count_nonzero(2 * np.cumsum(chances) <= alpha * (1 + 1e-12)))


MOST_FREEDOM = 4.0
"""Values that scatter known from another day may stand for. It was seen to vary by about a third
from day to day, and a standard deviation of 4 degrees of freedom is as uncertain: 1 / sqrt(2 x 4)
(tests and benchmarks/coverage.py vary it so)."""
EFFICIENCY = 0.37
"""Of the median deviation against the mean square, on normal values; no outlier moves it."""
WITHIN_FREEDOM = 2.0
"""By which noise within replicates counts, in their degrees of freedom. Rounds have many more, but
that noise is a part of what scatters pairs. By all of its own, the narrowest quarter of intervals
of three pairs held the truth in 92 %, by these in 97 % (benchmarks/coverage.py)."""
NORMAL = 0.6745
"""The median deviation of normal values, in standard deviations."""


@dataclass(frozen=True)
class Scatter:
    """The variance of a pair's log ratio, and how many degrees of freedom it is worth."""

    variance: float
    freedom: float

    def contradicts(self, known: Scatter) -> bool:
        """Whether values scatter more than `known` lets expect: above the median of F.

        Pooled with a calmer day's, they would name a false winner in 13 to 22 of 100 comparisons of
        three pairs (benchmarks/coverage.py --calm).
        """
        if not known.freedom:
            return False
        return self.variance > known.variance * median_of_f(self.freedom, known.freedom)

    def pooled(self, other: Scatter) -> Scatter:
        """Both together, each by its degrees of freedom, of which this one has some."""
        freedom = self.freedom + other.freedom
        squares = self.freedom * self.variance + other.freedom * other.variance
        return Scatter(squares / freedom, freedom)

    def reach(self, confidence: float) -> float:
        """How far Student's interval of a single value reaches to either side of it."""
        return quantile(self.freedom, 0.5 + confidence / 2) * math.sqrt(self.variance)


def noise_within(errors: Sequence[float], *, freedom: float) -> Scatter | None:
    """What replicates would scatter by if nothing but the noise within them did.

    `errors` are the variances that it leaves in each one's logarithm. It is worth WITHIN_FREEDOM,
    and never more than `freedom`, which is what it is known by. None of fewer than two.
    """
    if len(errors) < 2:
        return None
    return Scatter(fmean(errors), min(freedom, WITHIN_FREEDOM * (len(errors) - 1)))


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
