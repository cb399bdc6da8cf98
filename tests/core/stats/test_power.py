"""What a number of pairs can show, and how many pairs a width takes."""

from __future__ import annotations

import math
import random

import pytest
import scipy.stats
from laws import measured, normal

from mbench.stats import (
    Interval,
    Scatter,
    detectable,
    geometric_interval,
    known_scatter,
    pairs_for,
    verdict,
)


def test_the_detectable_difference_is_that_of_the_power_of_students_test():
    """Checked with scipy's noncentral t; for many pairs it is (1.96 + 1.28) standard errors."""
    found = math.log1p(detectable(Scatter(0.02**2, 0.0), pairs=5))
    noncentral = scipy.stats.nct(4, found / (0.02 / math.sqrt(5)))
    assert noncentral.sf(scipy.stats.t.ppf(0.975, 4)) == pytest.approx(0.9, abs=1e-3)
    many = math.log1p(detectable(Scatter(0.02**2, 4.0), pairs=1000))
    assert many == pytest.approx(3.2415 * 0.02 / math.sqrt(1000), rel=5e-3)
    assert detectable(Scatter(0.02**2, 4.0), pairs=2) is None
    assert detectable(Scatter(0.0, 0.0), pairs=5) == 0


@pytest.mark.parametrize("count", [3, 5, 12, 20])
@pytest.mark.parametrize(("law", "least"), [(normal, 0.85), (measured, 0.74)])
def test_that_difference_is_shown_in_four_of_five_comparisons(law, least, count):
    """It is nine of ten if all pairs scatter alike, and fewer if some lie far off."""
    chance, trials = random.Random(0), 1000
    known = known_scatter([[math.exp(law(chance)) for _ in range(2000)]])
    true = 1 + detectable(known, pairs=count)
    shown = sum(
        verdict(geometric_interval([true * math.exp(law(chance)) for _ in range(count)]))
        == "faster"
        for _ in range(trials)
    )
    assert least < shown / trials < 0.93


def test_pairs_that_a_width_takes():
    """Pairs scatter by 3 %: t(0.9825) * 3 % / sqrt(n) is 2.1 % for 12 of them, 2.0 % for 13."""
    chance = random.Random(0)
    logs = [chance.gauss(0, 1) for _ in range(5)]
    mean = sum(logs) / 5
    unit = math.sqrt(sum((x - mean) ** 2 for x in logs) / 4)
    made = geometric_interval([math.exp(0.03 * (x - mean) / unit) for x in logs])
    assert pairs_for(made, half_width=0.02, confidence=0.965) == 13
    assert pairs_for(made, half_width=0.5, confidence=0.965) == 3


@pytest.mark.parametrize("made", [Interval(1.0, 0.5, 2.0, 3), Interval(1.0, 1e-300, 1e300, 3)])
def test_a_width_that_takes_thousands_is_not_reckoned(made):
    assert pairs_for(made, half_width=0.001, confidence=0.965) is None
