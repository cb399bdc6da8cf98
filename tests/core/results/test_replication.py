"""A ratio is compared with those of earlier runs; what it would take to know more."""

from __future__ import annotations

import math
import random
from dataclasses import asdict

import pytest

from mbench.results.events import PastRatio
from mbench.results.replication import NextStep, earlier_ratios, next_step, over_runs
from mbench.spec.adaptive import Adaptive
from mbench.spec.presets import PRESETS
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
    (told,) = earlier_ratios(NOW, [then(math.sqrt(low * high), low, high)])
    assert asdict(told) == {
        "run": "a", "started": "2026-01-01", "ratio": math.sqrt(low * high), "low": low,
        "high": high, "process_pairs": 5, "contradicts": contradicts,
    }  # fmt: skip


def test_two_runs_have_no_interval_of_their_own():
    assert over_runs(NOW, [then(1.0, 0.9, 1.1)]) is None


def test_a_run_without_an_interval_is_held_against_nothing():
    alone, past = Interval(1.0, None, None, 2), [then(1.0, 0.9, 1.1)] * 3
    assert earlier_ratios(alone, past) == []
    assert over_runs(alone, past) is None


def test_runs_that_agree_by_luck_are_no_surer_than_their_own_intervals_allow():
    """Each run has an error of ln(1.02) / 2.776; three together have four degrees of freedom."""
    now = Interval(1.0, 1 / 1.02, 1.02, 5)
    found = over_runs(now, [then(1.0, 1 / 1.02, 1.02)] * 2)
    assert found.runs == 3
    assert math.log(found.high) == pytest.approx(math.log(1.02) / math.sqrt(3), rel=1e-3)


@pytest.mark.parametrize("lasting", [0.0, 0.03])
def test_all_runs_together_hold_the_truth_whatever_lasts_for_a_run(lasting):
    """If something lasts for a run, intervals of single runs hold the truth far too seldom."""
    chance, alone, over, trials = random.Random(0), 0, 0, 1000
    for _ in range(trials):
        runs = []
        for _ in range(5):
            own = chance.gauss(0, lasting)
            pairs = [math.exp(own + chance.gauss(0, 0.01)) for _ in range(5)]
            runs.append(geometric_interval(pairs))
        now, *past = runs
        found = over_runs(now, [then(one.value, one.low, one.high) for one in past])
        alone += now.low <= 1 <= now.high
        over += found.low <= 1 <= found.high
    assert over / trials >= 0.93
    assert (alone / trials < 0.6) is (lasting > 0)


@pytest.mark.parametrize(
    "numbers", [(1.0, 0.0, 2.0), (1.0, 0.5, 1e9), (1.0, 1.1, 1.2), (1.0, 0.5, 0.9)]
)
def test_no_interval_is_no_event(numbers):
    with pytest.raises(ValueError, match="not an interval of a ratio"):
        then(*numbers)


def step(half_width, *, pairs=5, set_seconds=30.0, **protocol):
    interval = Interval(1.0, 1 / (1 + half_width), 1 + half_width, pairs)
    return next_step(interval, protocol=Adaptive(**protocol), set_seconds=set_seconds, run="R")


def test_the_next_width_is_at_most_half_as_wide_and_has_its_price():
    """Five pairs with ±4.3 % scatter by 3.4 %; ±2 % takes 16 and two more: 13 further pairs."""
    assert step(0.043) == NextStep(
        half_width=0.02, process_pairs=13, seconds=13 * 30.0, options="--resume R --until 2%"
    )


def test_more_sets_than_usual_are_asked_for():
    found = step(0.038, set_seconds=1.0)
    assert found.half_width == 0.01
    assert "--max-processes" in found.options


@pytest.mark.parametrize(("asked", "half_width"), [(0.02, 0.02), (0.05, None)])
def test_a_width_that_was_asked_for_stays_the_goal_until_it_is_reached(asked, half_width):
    found = step(0.043, half_width_goal=asked)
    assert (found and found.half_width) == half_width
    assert found is None or found.options == "--resume R", "its own goal need not be repeated"


def test_too_few_pairs_need_pairs():
    few = Interval(1.0, None, None, 2)
    asked = {"set_seconds": 30.0, "run": "R"}
    found = next_step(few, protocol=Adaptive(), **asked)
    assert found == NextStep(half_width=None, process_pairs=1, seconds=30.0, options="--resume R")
    assert found.command == "mbench compare --resume R"
    two = next_step(few, protocol=Adaptive(processes=2), **asked)
    assert two.options == "--resume R --processes 3", "two were asked for, and there are two"


def test_what_compare_does_not_continue_has_no_next_step():
    few = Interval(1.0, None, None, 2)
    assert next_step(few, protocol=PRESETS["explain"], set_seconds=30.0, run="R") is None


def test_nothing_is_foreseen_where_nothing_is_known_or_narrower_is_of_no_use():
    assert step(0.05, set_seconds=None) is None
    assert step(0.05, set_seconds=1e308) is None
    assert step(10.0, half_width_goal=0.001) is None
    assert step(0.009) is None
