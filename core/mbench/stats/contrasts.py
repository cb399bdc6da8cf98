"""Ratios of processes that did not run in pairs: one run against another."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.stats.intervals import CONFIDENCE, FEWEST, Interval, quantile, stdev

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["contrast", "processes_for"]

MOST_PROCESSES = 500
LARGEST_LOG = 700.0
"""Largest logarithm of an interval's end that can be represented; it is meaningless long before."""


def contrast(base: Sequence[float], new: Sequence[float], *, comparisons: int = 1) -> Interval:
    """How many times `new` is `base`, from processes that did not run in pairs.

    Welch's interval on the difference of mean logarithms, which allows unequal scatter.
    Bonferroni's correction widens it so that the intervals of all `comparisons` hold together with
    95 % confidence. It has no ends if either side has fewer than three processes.
    """
    logs = [[math.log(value) for value in values] for values in (base, new)]
    shift = fmean(logs[1]) - fmean(logs[0])
    fewest = min(map(len, logs))
    if fewest < FEWEST:
        return Interval(math.exp(shift), None, None, fewest)
    errors = [stdev(side) ** 2 / len(side) for side in logs]
    if sum(errors) == 0:
        return Interval(math.exp(shift), math.exp(shift), math.exp(shift), fewest)
    freedom = sum(errors) ** 2 / sum(
        error**2 / (len(side) - 1) for error, side in zip(errors, logs, strict=True)
    )
    tail = (1 - CONFIDENCE) / 2 / comparisons
    reach = quantile(freedom, 1 - tail) * math.sqrt(sum(errors))
    high = math.exp(min(shift + reach, LARGEST_LOG))
    return Interval(math.exp(shift), math.exp(shift - reach), high, fewest)


def processes_for(
    base: Sequence[float], new: Sequence[float], *, half_width: float, comparisons: int = 1
) -> int | None:
    """About how many processes in each run make the interval of `contrast` that narrow.

    Never fewer than three, which is also the answer if a run has a single process, which shows no
    scatter. None if the number is impractical.
    """
    if min(len(base), len(new)) < 2:
        return FEWEST
    both = sum(stdev([math.log(value) for value in values]) ** 2 for values in (base, new))
    tail = (1 - CONFIDENCE) / 2 / comparisons
    for count in range(FEWEST, MOST_PROCESSES + 1):
        reach = quantile(2 * count - 2, 1 - tail) * math.sqrt(both / count)
        if math.sinh(reach) <= half_width:
            return count
    return None
