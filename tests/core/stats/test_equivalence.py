"""Equivalence: the tests, their power, and how many pairs they take."""

from __future__ import annotations

import numpy as np
import pytest

from mbench.stats.equivalence import (
    ALIKE_ERROR,
    DIFFERENT_ERROR,
    correlation,
    equivalence,
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
    """If they scatter far more than the margin is wide, chance can take them past either side."""
    found = drawn(3, difference=0.0, scatter=20 * MARGIN)
    assert found.count("different") / len(found) < DIFFERENT_ERROR + 0.008


@pytest.mark.parametrize("count", [2, 3, 4, 5, 12])
@pytest.mark.parametrize("hard", [0.3, 1.0])
def test_printed_power_is_on_average_what_simulation_gives(count, hard):
    """This includes few pairs, whose observed scatter is often much less than the true one."""
    scatter = hard * MARGIN * count / 8 if count < 8 else hard * MARGIN
    rows = np.random.default_rng(count).normal(0, scatter, size=(3000, count))
    found = [equivalence(row.tolist(), MARGIN) for row in rows]
    seen = sum(one.verdict == "alike" for one in found) / len(found)
    assert np.mean([one.power for one in found]) == pytest.approx(seen, abs=0.025)
    assert power(count, scatter, MARGIN) == pytest.approx(seen, abs=0.025)


def test_printed_power_is_never_too_high_of_two_that_differ():
    rows = np.random.default_rng(1).normal(MARGIN / 2, MARGIN / 4, size=(1000, 5))
    told = np.mean([equivalence(row.tolist(), MARGIN).power for row in rows])
    assert 0.1 < told < power(5, MARGIN / 4, MARGIN)


@pytest.mark.parametrize("pairs", [3, 6])
def test_pairs_that_a_power_takes_have_it_on_average(pairs):
    scatters = np.random.default_rng(pairs).normal(0, MARGIN, size=(150, pairs)).std(1, ddof=1)
    needed = [pairs_for_power([(one, MARGIN)], pairs) for one in scatters]
    assert np.mean([power(count, MARGIN, MARGIN) for count in needed]) > 0.78


def test_pairs_that_a_power_takes():
    assert pairs_for_power([(0.0, MARGIN)], 5) == 2
    assert pairs_for_power([(1000.0, MARGIN)], 5) is None
    one, other = (0.05, MARGIN), (0.08, MARGIN)
    assert pairs_for_power([one], 40) < pairs_for_power([one], 4)
    assert pairs_for_power([one, other], 9) >= pairs_for_power([other], 9)


def test_verdicts():
    assert equivalence([0.001, -0.001, 0.0], MARGIN).verdict == "alike"
    assert equivalence([0.2, 0.21, 0.19], MARGIN).verdict == "different"
    assert equivalence([-0.2, -0.21, -0.19], MARGIN).verdict == "different"
    assert equivalence([0.2, -0.2, 0.0], MARGIN).verdict == "not shown"
    assert equivalence([0.0, 0.0, 0.0], MARGIN).verdict == "alike"
    assert equivalence([0.001, -0.001], MARGIN).verdict == "alike"
    few = equivalence([0.0], MARGIN)
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
