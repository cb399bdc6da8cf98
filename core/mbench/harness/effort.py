"""Splits the effort between rounds and fresh processes by what each of them is worth."""

from __future__ import annotations

import math
from statistics import fmean, median, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.harness.stopping import Rates

__all__ = ["rounds_that_pay", "variances"]


def variances(
    baseline: Mapping[int, Mapping[int, float]], other: Mapping[int, Mapping[int, float]]
) -> tuple[float, float] | None:
    """What a round adds to the variance of a pair's log ratio, and the variance between pairs.

    Both map process -> round -> throughput. None before two pairs have two rounds each. The first
    is that of a pair's median times its rounds; what rounds add to the scatter of the pairs is
    taken off the second, which may be left with 0.
    """
    pairs = [
        [math.log(other[p][r] / baseline[p][r]) for r in set(baseline[p]) & set(other[p])]
        for p in set(baseline) & set(other)
    ]
    pairs = [rounds for rounds in pairs if len(rounds) > 1]
    if len(pairs) < 2:
        return None
    noises = [variance_of_median(rounds) for rounds in pairs]
    within = fmean(len(rounds) * noise for rounds, noise in zip(pairs, noises, strict=True))
    return within, max(0.0, variance([median(rounds) for rounds in pairs]) - fmean(noises))


def variance_of_median(values: Sequence[float]) -> float:
    """Of at least two values: the smaller of two estimates, both of which rather err upwards.

    Where noise is normal it is pi / 2 times a mean's. Bursts, and steps of two levels, enlarge that
    but do not move the median; then the distance of two values about the median tells better
    (Price & Bonett 2001, Estimating the variance of the sample median, Journal of Statistical
    Computation and Simulation 68).
    """
    from scipy.special import bdtr, ndtri

    count = len(values)
    beyond = max(1, round((count + 1) / 2 - math.sqrt(count)))
    low, high = (sorted(values)[at] for at in (beyond - 1, count - beyond))
    distance = (high - low) / (2 * float(ndtri(bdtr(beyond - 1, count, 0.5))))
    return min(math.pi / 2 * variance(values) / count, distance**2)


def rounds_that_pay(
    rates: Rates, *, cases: Sequence[int], setup_seconds: float, round_seconds: float
) -> float | None:
    """How many rounds a set should have for the narrowest interval in a given time.

    A set costs setup_seconds + n * round_seconds and leaves a variance of between + within / n;
    the product is smallest at n = sqrt(setup / round * within / between) (Cochran 1977, Sampling
    Techniques, 10.6: two-stage sampling). Of several ratios the one that asks for most counts.
    None before there is anything to go by; infinite where pairs do not differ.
    """
    baseline, *others = (rates.get(case, {}) for case in cases)
    found = [pair for other in others if (pair := variances(baseline, other)) is not None]
    if not found or len(found) < len(others):
        return None
    return max(
        math.sqrt(setup_seconds / round_seconds * within / between) if between > 0 else math.inf
        for within, between in found
    )
