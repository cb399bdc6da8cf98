"""Intervals, checked with independent computations, and by simulation with measured tails."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import scipy.stats
from laws import SIGMA, measured, normal

from mbench.stats import Interval, Scatter, geometric_interval, known_scatter
from mbench.stats.intervals import ranked_interval


@pytest.mark.parametrize("count", [3, 5, 9])
def test_few_values_have_students_interval_of_their_logarithms(count):
    values = np.random.default_rng(count).lognormal(3, 0.2, count)
    logs = np.log(values)
    low, high = scipy.stats.t.interval(
        0.95, count - 1, loc=logs.mean(), scale=scipy.stats.sem(logs)
    )
    made = geometric_interval(list(values))
    assert made.value == pytest.approx(scipy.stats.gmean(values))
    assert made.low == pytest.approx(math.exp(low))
    assert made.high == pytest.approx(math.exp(high))
    assert made.replicates == count


def test_ten_values_are_ranked():
    values = np.random.default_rng(0).lognormal(3, 0.2, 10)
    expected = ranked_interval(list(np.log(values)), 0.95)
    made = geometric_interval(list(values))
    assert (made.value, made.low, made.high) == pytest.approx(tuple(np.exp(expected)))


def test_a_level_that_ranks_of_ten_cannot_show_is_students():
    values = np.random.default_rng(0).lognormal(3, 0.2, 10)
    made = geometric_interval(list(values), confidence=0.9999)
    low, _ = scipy.stats.t.interval(
        0.9999, 9, loc=np.log(values).mean(), scale=scipy.stats.sem(np.log(values))
    )
    assert made.low == pytest.approx(math.exp(low))


@pytest.mark.parametrize("values", [[7.0], [7.0, 7.0]])
def test_fewer_than_three_values_give_no_interval(values):
    made = geometric_interval(values, known=Scatter(1e-4, 4.0), within=Scatter(1e-4, 9.0))
    assert made == Interval(pytest.approx(7.0), None, None, len(values))
    assert made.half_width is None
    assert not made.leaves_out(1)


def test_equal_values_give_an_interval_of_no_width():
    made = geometric_interval([4.0, 4.0, 4.0])
    assert made.low == made.high == pytest.approx(4.0)
    assert made.half_width == 0
    assert made.leaves_out(1)


def test_half_width_is_relative():
    assert Interval(200.0, 190.0, 214.0, 3).half_width == pytest.approx(0.06)


@pytest.mark.parametrize("count", [3, 12])
def test_no_interval_is_narrower_than_the_noise_within_pairs_allows(count):
    """Pairs agree by luck, although rounds leave 1 % in each. From ten pairs on, ranks are used."""
    values = [1.07 + 0.0001 * at for at in range(count)]
    made = geometric_interval(values, within=Scatter(0.01**2, 21.0))
    reach = scipy.stats.t.ppf(0.975, 21) * 0.01 / math.sqrt(count)
    assert math.log(made.high / made.low) / 2 == pytest.approx(reach)


@pytest.mark.parametrize("count", [5, 12])
@pytest.mark.parametrize("within", [0.0, 0.001, 0.01, 0.1])
def test_noise_within_pairs_narrows_no_interval(within, count):
    """So intervals hold the truth at least as often as without it, whatever the noise."""
    values = np.random.default_rng(0).lognormal(0, 0.02, count)
    alone = geometric_interval(list(values))
    made = geometric_interval(list(values), within=Scatter(within**2, 35.0))
    assert made.value == alone.value
    assert made.half_width >= alone.half_width
    assert (made.half_width > alone.half_width) is (within > 0.03)


def test_what_is_known_of_the_scatter_is_pooled_with_what_is_seen():
    """Worked by hand: (4 * 0.02 ** 2 + 2 * 0.01 ** 2) / 6 with 6 degrees of freedom."""
    made = geometric_interval(
        [math.exp(x) for x in (-0.01, 0.0, 0.01)], known=Scatter(0.02**2, 4.0)
    )
    scale = math.sqrt((4 * 0.02**2 + 2 * 0.01**2) / 6 / 3)
    assert math.log(made.high) == pytest.approx(scipy.stats.t.ppf(0.975, 6) * scale)


def share_that_holds(*, law, count, trials, calibrated=0, day=0.0):
    chance, held, widths = random.Random(count), 0, []
    for _ in range(trials):
        known, scale = None, math.exp(chance.gauss(0, day))
        if calibrated:
            known = known_scatter(
                [[math.exp(law(chance)) for _ in range(calibrated)] for _ in range(2)]
            )
        made = geometric_interval(
            [1.1 * math.exp(scale * law(chance)) for _ in range(count)], known=known
        )
        held += made.low <= 1.1 <= made.high
        widths.append(made.half_width)
    return held / trials, sorted(widths)[trials // 2]


@pytest.mark.parametrize("law", [normal, measured])
@pytest.mark.parametrize("count", [3, 5, 10, 20])
def test_intervals_hold_the_truth_as_often_as_they_say(law, count):
    held, _ = share_that_holds(law=law, count=count, trials=2000)
    assert 0.937 <= held <= 0.98  # three standard errors below 95 %; tails err to the safe side


@pytest.mark.parametrize("law", [normal, measured])
@pytest.mark.parametrize("count", [3, 5])
def test_calibrated_intervals_do_so_too_and_are_narrower(law, count):
    """The calibration's noise differs by about a third. Intervals of five pairs get no narrower."""
    held, width = share_that_holds(law=law, count=count, trials=2000, calibrated=10, day=0.35)
    assert 0.937 <= held <= 0.99
    _, alone = share_that_holds(law=law, count=count, trials=2000, day=0.35)
    assert width < {3: 0.95, 5: 1.05}[count] * alone


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("calmer", [2.0, 3.0, 5.0])
def test_a_calibration_of_a_calmer_day_names_no_more_winners(count, calmer):
    """When such calibrations were pooled, 9 to 22 of 100 intervals left the truth out."""
    chance, held, trials = random.Random(count), 0, 1000
    for _ in range(trials):
        known = known_scatter(
            [[math.exp(measured(chance) / calmer) for _ in range(10)] for _ in range(2)]
        )
        made = geometric_interval([math.exp(measured(chance)) for _ in range(count)], known=known)
        held += made.low <= 1 <= made.high
    assert held / trials >= 0.93  # three standard errors below 95 %


def test_ranks_keep_their_width_where_some_pairs_lie_far_off():
    chance = random.Random(0)
    wide, students = [], []
    for _ in range(300):
        values = [measured(chance) for _ in range(20)]
        wide.append(geometric_interval([math.exp(value) for value in values]).half_width)
        students.append(2.093 * np.std(values, ddof=1) / math.sqrt(20))
    ideal = 2.093 * SIGMA / math.sqrt(20)
    assert np.median(wide) < 1.15 * ideal
    assert np.median(students) > 1.3 * ideal
