"""The signed-rank interval, checked with published tables and scipy's exact test."""

from __future__ import annotations

import random

import pytest
import scipy.stats

from mbench.stats import intervals
from mbench.stats.intervals import _left_out, ranked_interval


@pytest.mark.parametrize(
    ("count", "critical"),
    [(6, 0), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89), (30, 137)],
)
def test_the_table_of_critical_values(count, critical):
    """Two-sided 5 %: the largest sum whose tail is 2.5 % at most (McCornack 1965)."""
    assert _left_out(count, 0.05) == critical + 1


def test_no_level_beyond_what_so_few_values_show():
    """All ranks have one sign with a probability of 2 / 2 ** count."""
    assert ranked_interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.95) is None
    assert ranked_interval([0.01 * at for at in range(10)], 0.999) is None
    assert ranked_interval([0.01 * at for at in range(10)], 1 - 2 / 2**10) is not None


@pytest.mark.parametrize("count", [10, 13, 20])
def test_the_ends_are_where_scipys_exact_test_turns(count):
    chance = random.Random(count)
    values = [chance.gauss(0.3, 1) for _ in range(count)]
    center, low, high = ranked_interval(values, 0.95)
    assert low < center < high

    def p_value(shift):
        moved = [value - shift for value in values]
        return scipy.stats.wilcoxon(moved, mode="exact").pvalue

    for end, inwards in ((low, 1e-9), (high, -1e-9)):
        assert p_value(end + inwards) > 0.05
        assert p_value(end - inwards) <= 0.05


def test_the_centre_is_hodges_and_lehmanns():
    center, *_ = ranked_interval([1.0] * 5 + [2.0] * 5 + [1000.0], 0.95)
    assert center == 1.5, "of 66 means 15 are 1, 25 are 1.5 and 15 are 2"


@pytest.mark.parametrize("count", [101, 250])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_of_many_the_normal_approximation_is_as_good(count, confidence, monkeypatch):
    chance = random.Random(count)
    values = [chance.gauss(0.3, 1) for _ in range(count)]
    found = ranked_interval(values, confidence)
    monkeypatch.setattr(intervals, "MANY", count)
    center, low, high = ranked_interval(values, confidence)
    assert found[0] == pytest.approx(center, abs=1e-12)
    assert found[1:] == pytest.approx((low, high), abs=0.01 * (high - low))


def test_ten_thousand_equal_values_have_an_interval():
    assert ranked_interval([2.0] * 10_000, 0.95) == (2.0, 2.0, 2.0)


def test_hundreds_of_values_are_no_trouble():
    chance = random.Random(0)
    values = [chance.gauss(0, 1) for _ in range(300)]
    _, low, high = ranked_interval(values, 0.95)
    assert (high - low) / 2 == pytest.approx(1.96 / 300**0.5, rel=0.15)
