"""Equivalence: the tests, their power, and how many pairs they take."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.stats.equivalence import (
    ALIKE_ERROR,
    DIFFERENT_ERROR,
    correlation,
    equivalence,
    joint_power,
    misses_differ,
    pairs_for_power,
    power,
)

MARGIN = 0.05


def drawn(count, *, difference, scatter, times=4000):
    random = np.random.default_rng(7)
    return [
        equivalence(row.tolist(), MARGIN).verdict
        for row in random.normal(difference, scatter, size=(times, count))
    ]


@pytest.mark.parametrize("scatter", [0.02, 0.06])
def test_two_that_differ_by_the_margin_are_called_alike_at_most_as_often_as_said(scatter):
    found = drawn(8, difference=MARGIN, scatter=scatter)
    assert found.count("alike") / len(found) < ALIKE_ERROR + 0.01
    assert found.count("different") / len(found) < DIFFERENT_ERROR + 0.008


def test_two_within_the_margin_are_called_different_at_most_as_often_as_said():
    """Where they scatter far more than the margin is wide, either side can be left by chance."""
    found = drawn(3, difference=0.0, scatter=20 * MARGIN)
    assert found.count("different") / len(found) < DIFFERENT_ERROR + 0.008


@pytest.mark.parametrize(("count", "scatter"), [(5, 0.03), (8, 0.05), (12, 0.07)])
def test_power_is_what_is_printed(count, scatter):
    found = drawn(count, difference=0.0, scatter=scatter)
    assert found.count("alike") / len(found) == pytest.approx(
        power(count, scatter, MARGIN), abs=0.025
    )


def test_pairs_that_a_power_takes():
    for figures in ([(0.01, MARGIN)], [(0.05, MARGIN)], [(0.05, MARGIN), (0.1, MARGIN)]):
        needed = pairs_for_power(figures)
        assert joint_power(needed, figures) >= 0.8
        assert needed == 3 or joint_power(needed - 1, figures) < 0.8
    assert pairs_for_power([(0.0, MARGIN)]) == 3
    assert pairs_for_power([(100.0, MARGIN)]) is None


def test_verdicts():
    assert equivalence([0.001, -0.001, 0.0], MARGIN).verdict == "alike"
    assert equivalence([0.2, 0.21, 0.19], MARGIN).verdict == "different"
    assert equivalence([-0.2, -0.21, -0.19], MARGIN).verdict == "different"
    assert equivalence([0.2, -0.2, 0.0], MARGIN).verdict == "not shown"
    assert equivalence([0.0, 0.0, 0.0], MARGIN).verdict == "alike"
    few = equivalence([0.0, 0.0], MARGIN)
    assert (few.verdict, few.low, few.power) == ("not shown", None, None)
    assert equivalence([], MARGIN).pairs == 0


def test_correlation():
    assert correlation([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]) == pytest.approx(1)
    assert correlation([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]) is None
    assert correlation([1.0, 2.0], [1.0, 2.0]) is None


def test_misses_differ_by_the_pairs_in_which_one_alone_misses():
    assert misses_differ([False] * 10, [True] * 10)
    assert not misses_differ([False] * 6, [True] * 6), "two sides of 1 in 64 are more than 2.5 %"
    assert not misses_differ([True] * 10, [True] * 10)
    assert not misses_differ([False] * 10, [True] * 2 + [False] * 8)
