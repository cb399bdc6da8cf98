"""A ratio beside those of earlier runs: whether they agree, and what all of them say together."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.stats.student import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.results.events import PastRatio

__all__ = ["beside"]

Document = dict[str, Any]


def beside(interval: stats.Interval, past: Sequence[PastRatio]) -> Document:
    """Each of the `past` ratios, and whether its interval and this one exclude each other; then the
    ratio over all runs, each of which is one replicate. None for that where they are fewer than
    three.
    """
    if interval.low is None or interval.high is None:
        return {"past": [], "over_runs": None}
    told = []
    for one in past:
        shown = asdict(one)
        del shown["case"], shown["baseline"]
        apart = one.high < interval.low or one.low > interval.high
        told.append({**shown, "contradicts": apart})
    return {"past": told, "over_runs": together(interval, past)}


def together(interval: stats.Interval, past: Sequence[PastRatio]) -> Document | None:
    """What lasts for a whole run is in no run's interval, but it is in how far runs lie apart."""
    assert interval.low is not None
    assert interval.high is not None
    if len(past) + 1 < stats.FEWEST:
        return None
    errors = [error(interval.low, interval.high, interval.replicates)]
    errors += [error(one.low, one.high, one.process_pairs) for one in past]
    found = stats.geometric_interval(
        [interval.value, *(one.ratio for one in past)],
        within=stats.noise_within(errors, freedom=math.inf),
    )
    return {"ratio": found.value, "low": found.low, "high": found.high, "runs": found.replicates}


def error(low: float, high: float, pairs: int) -> float:
    """The variance of a run's logarithm, about as its own interval has it."""
    reach = math.log(high / low) / 2
    return (reach / quantile(max(1.0, pairs - 1.0), 0.5 + stats.CONFIDENCE / 2)) ** 2
