"""Intervals, ratios, percentiles and verdicts, computed from raw values when they are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from scipy.special import stdtrit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Interval",
    "contrast",
    "geometric_interval",
    "noise_floor",
    "pair_ratios",
    "percentile",
    "ratio",
    "steps_for",
    "trend",
    "verdict",
]

CONFIDENCE = 0.95
PERCENTILES = (50, 90, 95, 99, 99.9)


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % confidence interval; no ends where one replicate gives none."""

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


def stdev(values: Sequence[float]) -> float:
    """The sample's standard deviation; the standard library's exact one takes 20 times as long."""
    center = fmean(values)
    return math.sqrt(math.fsum((value - center) ** 2 for value in values) / (len(values) - 1))


def geometric_interval(values: Sequence[float]) -> Interval:
    """Student's interval on the logarithms of positive `values`, one per fresh process.

    Processes are the replicates because each carries an offset of its own that no number of
    rounds within it removes; the scatter of their values holds both levels of noise.
    """
    logs = [math.log(value) for value in values]
    center = fmean(logs)
    if len(logs) < 2:
        return Interval(math.exp(center), None, None, len(logs))
    quantile = float(stdtrit(len(logs) - 1, 0.5 + CONFIDENCE / 2))
    reach = quantile * stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(center), math.exp(center - reach), math.exp(center + reach), len(logs))


def noise_floor(ratios: Sequence[float], *, pairs: int) -> float:
    """How wide, to either side, the interval of `pairs` process pairs is where nothing differs.

    `ratios` are those of pairs of identical processes. Their true value is known to be 1, so the
    scatter is taken about it, and none of it is lost to estimating a mean. Relative.
    """
    scatter = math.sqrt(fmean(math.log(value) ** 2 for value in ratios))
    quantile = float(stdtrit(len(ratios), 0.5 + CONFIDENCE / 2))
    return math.expm1(quantile * scatter / math.sqrt(pairs))


def contrast(base: Sequence[float], new: Sequence[float], *, comparisons: int = 1) -> Interval:
    """How many times `new` is `base`, from processes that did not run in pairs.

    Welch's interval on the difference of mean logarithms, which lets the two scatter unlike.
    Bonferroni's correction widens it so that the intervals of all `comparisons` hold together
    with 95 %. Without ends where either side has one process.
    """
    logs = [[math.log(value) for value in values] for values in (base, new)]
    shift = fmean(logs[1]) - fmean(logs[0])
    fewest = min(map(len, logs))
    if fewest < 2:
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


def pair_ratios(
    baseline: Mapping[int, Mapping[int, float]], other: Mapping[int, Mapping[int, float]]
) -> list[float]:
    """How many times faster `other` is than `baseline` in each process pair with common rounds.

    Both map process -> round -> throughput. Each round gives one ratio of blocks that ran within
    seconds of each other; a process pair's ratio is the median of its rounds, so that a burst of
    other load in a round or two does not move it.
    """
    pairs = []
    for process in sorted(set(baseline) & set(other)):
        rounds = sorted(set(baseline[process]) & set(other[process]))
        if rounds:
            logs = [math.log(other[process][r] / baseline[process][r]) for r in rounds]
            pairs.append(math.exp(median(logs)))
    return pairs


def ratio(
    baseline: Mapping[int, Mapping[int, float]], other: Mapping[int, Mapping[int, float]]
) -> Interval | None:
    """The ratio over all process pairs, which are the replicates; None where there is none."""
    pairs = pair_ratios(baseline, other)
    return geometric_interval(pairs) if pairs else None


def trend(series: Sequence[Sequence[float]]) -> tuple[float, float]:
    """How much the values of a typical series change from its begin to its end, and how surely.

    The change is Theil and Sen's slope times a series' length, relative to the values. The other
    is the score of Mann and Kendall's test, summed over the series: beyond about 3 either way,
    noise does not explain it. Series are each in the order of time; no two are compared.
    """
    slopes, score, spread = [], 0, 0.0
    for values in series:
        count = len(values)
        found = [
            (math.log(values[later]) - math.log(values[earlier])) / (later - earlier)
            for earlier in range(count)
            for later in range(earlier + 1, count)
        ]
        slopes += [slope * (count - 1) for slope in found]
        score += sum((slope > 0) - (slope < 0) for slope in found)
        spread += count * (count - 1) * (2 * count + 5) / 18
    if not slopes:
        return 0.0, 0.0
    return math.expm1(median(slopes)), score / math.sqrt(spread)


def verdict(interval: Interval) -> str:
    """What the interval shows: a winner only where it leaves 1 out."""
    if interval.low is None or interval.high is None:
        return "undetermined"
    if interval.low > 1:
        return "faster"
    return "slower" if interval.high < 1 else "no difference shown"


def percentile(values: Sequence[float], rank: float) -> float | None:
    """The nearest-rank percentile, or None where the sample is too small to support it.

    At least one value must lie beyond it: 1,000 are needed for 99.9, 10 for 90.
    """
    count = len(values)
    if not count or count * (1 - rank / 100) < 1 - 1e-9:
        return None
    return sorted(values)[math.ceil(count * rank / 100 - 1e-9) - 1]


def steps_for(rank: float) -> int:
    """The smallest sample that supports a percentile."""
    return math.ceil(100 / (100 - rank) - 1e-9)
