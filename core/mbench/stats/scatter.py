"""How far pairs of processes lie apart, and how well that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from mbench.stats.student import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Scatter", "known_scatter", "noise_within"]

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

    def pooled(self, other: Scatter | None) -> Scatter:
        """Both together, each by its degrees of freedom, of which this one has some."""
        if other is None:
            return self
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
