"""Confidence intervals of a centre, over figures of fresh processes or of pairs of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.stats.scatter import Scatter
from mbench.stats.signed_rank import ranked_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CONFIDENCE", "FEWEST", "RANKED", "STOPPED_CONFIDENCE", "Interval",
           "geometric_interval", "mean_interval", "stdev"]  # fmt: skip

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
    `known`. From ten values on it is made by ranks. It is never narrower than the one by noise
    `within` processes alone, as far as that scatters each of them.
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
    seen = Scatter(stdev(values) ** 2, count - 1.0).pooled(known)
    reach = seen.reach(confidence) / math.sqrt(count)
    return center, center - reach, center + reach


def mean_interval(values: Sequence[float], *, confidence: float = CONFIDENCE) -> Interval:
    """Student's, of the mean of `values` of either sign, one per set of processes."""
    count = len(values)
    if count < FEWEST:
        return Interval(fmean(values), None, None, count)
    return Interval(*student_interval(values, confidence, None), count)
