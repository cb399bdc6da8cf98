"""Splits the effort between rounds and fresh processes by what each of them is worth."""

from __future__ import annotations

import math
from statistics import fmean, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.harness.stopping import Rates

__all__ = ["rounds_that_pay", "variances"]

MEDIAN = math.pi / 2
"""A median's variance is that of a mean times this, where noise is normal."""


def variances(
    baseline: Mapping[int, Mapping[int, float]], other: Mapping[int, Mapping[int, float]]
) -> tuple[float, float] | None:
    """The variance of a round's log ratio within a process pair, and that between pairs.

    Both map process -> round -> throughput. None before two pairs have two rounds each. What the
    noise of its rounds adds to the scatter of the pairs is taken off; what is left may be 0.
    """
    pairs = [
        [math.log(other[p][r] / baseline[p][r]) for r in set(baseline[p]) & set(other[p])]
        for p in set(baseline) & set(other)
    ]
    pairs = [rounds for rounds in pairs if len(rounds) > 1]
    if len(pairs) < 2:
        return None
    freedom = sum(len(rounds) - 1 for rounds in pairs)
    within = sum((len(rounds) - 1) * variance(rounds) for rounds in pairs) / freedom
    noise = within * fmean(1 / len(rounds) for rounds in pairs)
    return within, max(0.0, variance([fmean(rounds) for rounds in pairs]) - noise)


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
        math.sqrt(setup_seconds / round_seconds * MEDIAN * within / between)
        if between > 0
        else math.inf
        for within, between in found
    )
