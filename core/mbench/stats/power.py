"""What so many pairs can show, and how many a width takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mbench.stats.intervals import CONFIDENCE, FEWEST, RANKED, noncentral_shift, quantile

if TYPE_CHECKING:
    from mbench.stats.intervals import Interval, Scatter

__all__ = ["detectable", "pairs_for"]

MOST_PAIRS = 500
POWER = 0.9
"""Of normal values, so that about 0.8 is left where one pair in 25 lies far off, as is measured."""


def detectable(scatter: Scatter, *, pairs: int) -> float | None:
    """The difference that as many pairs show in 80 of 100 comparisons; relative. None below three.

    That is where noncentral t exceeds the quantile of the interval often enough. Ranks, of ten
    pairs and more, find nearly the same.
    """
    if pairs < FEWEST:
        return None
    freedom = pairs - 1 + (scatter.freedom if pairs < RANKED else 0.0)
    least = quantile(freedom, 0.5 + CONFIDENCE / 2)
    shift = noncentral_shift(freedom, 1 - POWER, least)
    return math.expm1(shift * math.sqrt(scatter.variance / pairs))


def pairs_for(interval: Interval, *, half_width: float, confidence: float) -> int | None:
    """About how many pairs it takes for that relative half-width, as they scatter in `interval`.

    The interval has ends. Never fewer than three; None for more than anybody makes.
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
