"""Ratios of processes that did not run in pairs: one run against another."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from scipy.special import stdtrit

from mbench.stats.intervals import CONFIDENCE, FEWEST, Interval, stdev

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["contrast"]


def contrast(base: Sequence[float], new: Sequence[float], *, comparisons: int = 1) -> Interval:
    """How many times `new` is `base`, from processes that did not run in pairs.

    Welch's interval on the difference of mean logarithms, which lets the two scatter unlike.
    Bonferroni's correction widens it so that the intervals of all `comparisons` hold together
    with 95 %. Without ends where either side has fewer than three processes.
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
    reach = float(stdtrit(freedom, 1 - tail)) * math.sqrt(sum(errors))
    return Interval(math.exp(shift), math.exp(shift - reach), math.exp(shift + reach), fewest)
