"""Splits the effort between rounds and fresh processes by what each of them is worth."""

from __future__ import annotations

import math
from statistics import fmean, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.measure.stopping import Rates

__all__ = ["rounds_that_pay", "variances"]


def variances(
    baseline: Mapping[int, Mapping[int, float]], other: Mapping[int, Mapping[int, float]]
) -> tuple[float, float] | None:
    """(W, B): n rounds leave a variance of W / n in a pair's log ratio, and pairs differ by B.

    `baseline` and `other` map process -> round -> throughput. B is the variance that is seen
    between pairs, less what their rounds leave in it, and never below 0. None before two pairs
    have two rounds each.
    """
    from mbench.stats import pairs_of

    pairs = [pair for pair in pairs_of(baseline, other) if pair.rounds > 1]
    if len(pairs) < 2:
        return None
    within = fmean(pair.rounds * pair.error for pair in pairs)
    between = variance([math.log(pair.total) for pair in pairs])
    return within, max(0.0, between - fmean(pair.error for pair in pairs))


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
