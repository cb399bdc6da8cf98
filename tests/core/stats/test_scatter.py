"""How much calibrations say about the scatter of pairs."""

from __future__ import annotations

import math
import random

import pytest

from mbench.stats import (
    Scatter,
    known_scatter,
)


def ratios(chance, *, sigma, count):
    return [math.exp(chance.gauss(0, sigma)) for _ in range(count)]


def test_a_pair_of_two_frameworks_has_the_mean_of_their_variances():
    """Processes scatter by 1 and 3 %: two alike differ by 1.41 or 4.24 %, one of each by 3.16 %."""
    chance = random.Random(0)
    processes = (0.01, 0.03)
    known = known_scatter(
        [ratios(chance, sigma=math.sqrt(2) * own, count=4000) for own in processes]
    )
    mixed = [chance.gauss(0, processes[0]) - chance.gauss(0, processes[1]) for _ in range(4000)]
    assert math.sqrt(known.variance) == pytest.approx(0.0316, rel=0.05)
    assert math.sqrt(known.variance) == pytest.approx(
        math.sqrt(sum(x * x for x in mixed) / len(mixed)), rel=0.06
    )
    assert known.freedom == 4, "another day's scatter is worth no more"


def test_few_ratios_are_worth_few_degrees_of_freedom():
    same = [math.exp(x) for x in (-0.02, 0.01, 0.02)]
    assert known_scatter([same, same]).freedom == pytest.approx(2 * 0.37 * 3)
    assert known_scatter([same * 5, same * 5]).freedom == 4


def test_one_framework_tells_what_to_expect_and_nothing_of_the_other():
    known = known_scatter([[], [math.exp(x) for x in (-0.02, 0.01, 0.02)]])
    assert known == Scatter(pytest.approx((0.02 / 0.6745) ** 2), 0.0)
    assert known_scatter([]) is None
    assert known_scatter([[1.0] * 5, [1.0] * 5]) == Scatter(0.0, 0.0)


def test_an_outlier_in_a_calibration_moves_little():
    calm = [math.exp(0.01 * at) for at in range(-3, 4)]
    assert known_scatter([[*calm, 0.69]]).variance < 1.4 * known_scatter([calm]).variance


def test_pooled_scatters_weigh_by_their_degrees_of_freedom():
    """The expected values are worked by hand."""
    made = Scatter(4e-4, 2.0).pooled(Scatter(1e-4, 4.0))
    assert (made.variance, made.freedom) == (pytest.approx((8e-4 + 4e-4) / 6), 6.0)
    assert Scatter(4e-4, 2.0).pooled(Scatter(1.0, 0.0)) == Scatter(4e-4, 2.0)


def test_a_calmer_scatter_is_contradicted_above_the_median_of_f():
    """The median of F is 0.83 for 2 and 4 degrees of freedom, by scipy.stats.f.median."""
    known = Scatter(1e-4, 4.0)
    assert not Scatter(0.7e-4, 2.0).contradicts(known)
    assert Scatter(0.9e-4, 2.0).contradicts(known)
    assert not Scatter(1.0, 2.0).contradicts(Scatter(1e-4, 0.0)), "it is worth nothing"


def test_the_reach_is_students():
    """With 4 degrees of freedom it is 2.776 standard deviations, by Student's tables."""
    assert Scatter(4e-4, 4.0).reach(0.95) == pytest.approx(2.776 * 0.02, rel=1e-3)
