"""Contrasts of runs: Welch's interval, and intervals of many contrasts that hold together."""

from __future__ import annotations

import math
import random

import pytest

from mbench.stats import Interval, contrast


def test_a_contrast_is_welchs_interval_of_logarithms():
    """Worked by hand: means 0 and log 2, variances of the means 0.01 / 3 and 0.04 / 3."""
    base = [math.exp(x) for x in (-0.1, 0.0, 0.1)]
    new = [2 * math.exp(x) for x in (-0.2, 0.0, 0.2)]
    found = contrast(base, new)
    assert found.value == pytest.approx(2)
    error = math.sqrt(0.05 / 3)
    freedom = (0.05 / 3) ** 2 / ((0.01 / 3) ** 2 / 2 + (0.04 / 3) ** 2 / 2)
    assert freedom == pytest.approx(2.941, abs=1e-3)
    reach = math.log(found.high / 2)
    assert reach == pytest.approx(3.2188 * error, rel=1e-3), "the quantile between those of 2 and 3"
    assert found.low * found.high == pytest.approx(4)


def test_many_contrasts_hold_together():
    alone, together = (contrast([1, 1.1, 1.2], [2, 2.1, 2.2], comparisons=n) for n in (1, 20))
    assert together.value == alone.value
    assert together.low < alone.low < alone.high < together.high


def test_a_contrast_of_two_processes_has_no_interval():
    found = contrast([1.0, 1.0], [2.0, 2.1, 2.2])
    assert found == Interval(pytest.approx(2.1, rel=0.01), None, None, 2)


def test_a_contrast_without_scatter_is_exact():
    assert contrast([1.0] * 3, [2.0] * 3) == Interval(2, 2, 2, 3)


def test_contrasts_cover_what_is_true():
    """Of 400 pairs of samples, the intervals of about 95 % hold the true ratio."""
    draw = random.Random(7)
    held = 0
    for _ in range(400):
        base = [math.exp(draw.gauss(0, 0.05)) for _ in range(5)]
        new = [1.5 * math.exp(draw.gauss(0, 0.02)) for _ in range(5)]
        found = contrast(base, new)
        held += found.low <= 1.5 <= found.high
    assert 0.92 < held / 400 < 0.98


def test_scatter_without_bounds_has_an_interval_that_says_nothing():
    """Such values may stand in a file of somebody else, among many that are compared."""
    found = contrast([1e-9, 1.0, 1e9], [1e-9, 1.0, 1e30], comparisons=10_000)
    assert found.low == 0.0
    assert 1e300 < found.high < float("inf")
    assert not found.leaves_out(1)
