"""A ratio beside those of earlier runs."""

from __future__ import annotations

import math
import random

import pytest

from mbench.results.events import PastRatio
from mbench.results.meta_analysis import beside
from mbench.stats import Interval, geometric_interval


def then(ratio, low, high, *, run="a"):
    return PastRatio(case=1, baseline=0, run=run, started="2026-01-01", ratio=ratio, low=low,
                     high=high, process_pairs=5)  # fmt: skip


NOW = Interval(1.0, 0.98, 1.02, 5)


@pytest.mark.parametrize(
    ("low", "high", "contradicts"),
    [(0.9, 0.97, True), (1.03, 1.2, True), (0.9, 0.98, False), (0.99, 1.2, False)],
)
def test_intervals_that_have_nothing_in_common_contradict_each_other(low, high, contradicts):
    (told,) = beside(NOW, [then(math.sqrt(low * high), low, high)])["past"]
    assert told == {
        "run": "a", "started": "2026-01-01", "ratio": math.sqrt(low * high), "low": low,
        "high": high, "process_pairs": 5, "contradicts": contradicts,
    }  # fmt: skip


def test_two_runs_have_no_interval_of_their_own():
    assert beside(NOW, [then(1.0, 0.9, 1.1)])["over_runs"] is None


def test_a_run_without_an_interval_is_held_against_nothing():
    told = beside(Interval(1.0, None, None, 2), [then(1.0, 0.9, 1.1)] * 3)
    assert told == {"past": [], "over_runs": None}


def test_runs_that_agree_by_luck_are_no_surer_than_their_own_intervals_allow():
    """Each leaves ln(1.02) / 2.776; in three runs that is worth four degrees of freedom."""
    now = Interval(1.0, 1 / 1.02, 1.02, 5)
    found = beside(now, [then(1.0, 1 / 1.02, 1.02)] * 2)["over_runs"]
    assert found["runs"] == 3
    assert math.log(found["high"]) == pytest.approx(math.log(1.02) / math.sqrt(3), rel=1e-3)


@pytest.mark.parametrize("lasting", [0.0, 0.03])
def test_all_runs_together_hold_the_truth_whatever_lasts_for_a_run(lasting):
    """Where something lasts for a run, single runs hold it far too seldom."""
    chance, alone, over, trials = random.Random(0), 0, 0, 1000
    for _ in range(trials):
        runs = []
        for _ in range(5):
            own = chance.gauss(0, lasting)
            pairs = [math.exp(own + chance.gauss(0, 0.01)) for _ in range(5)]
            runs.append(geometric_interval(pairs))
        now, *past = runs
        found = beside(now, [then(one.value, one.low, one.high) for one in past])["over_runs"]
        alone += now.low <= 1 <= now.high
        over += found["low"] <= 1 <= found["high"]
    assert over / trials >= 0.93
    assert (alone / trials < 0.6) is (lasting > 0)


@pytest.mark.parametrize(
    "numbers", [(1.0, 0.0, 2.0), (1.0, 0.5, 1e9), (1.0, 1.1, 1.2), (1.0, 0.5, 0.9)]
)
def test_no_interval_is_no_event(numbers):
    with pytest.raises(ValueError, match="no interval of a ratio"):
        then(*numbers)
