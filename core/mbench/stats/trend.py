"""Whether processes get faster over their rounds, with noise that lasts for rounds."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

from mbench.stats.intervals import FEWEST, below, stdev

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["slope", "trend"]


def slope(values: Sequence[float]) -> float:
    """The median of the slopes between all pairs (Theil and Sen), per value."""
    count = len(values)
    return median(
        (values[later] - values[earlier]) / (later - earlier)
        for earlier in range(count)
        for later in range(earlier + 1, count)
    )


def trend(series: Sequence[Sequence[float]]) -> tuple[float, float]:
    """How much positive values grow over a typical series, and the chance that noise does as much.

    Each series, in time order, gives one change: its slope times its length, relative to the
    values. The chance is that of Student's one-sided test over these changes, so it holds however
    noise is correlated within a series. It is 1 with fewer than three series of three values.
    """
    changes = [
        slope([math.log(value) for value in values]) * (len(values) - 1)
        for values in series
        if len(values) >= FEWEST
    ]
    if len(changes) < FEWEST:
        return 0.0, 1.0
    change, scatter = fmean(changes), stdev(changes)
    if not scatter:
        return math.expm1(median(changes)), 0.0 if change > 0 else 1.0
    score = change / scatter * math.sqrt(len(changes))
    return math.expm1(median(changes)), below(len(changes) - 1, -score)
