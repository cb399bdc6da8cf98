"""When a comparison has been measured enough."""

from __future__ import annotations

import math
import random

import pytest
from laws import measured, normal

from mbench import stats
from mbench.measure.stopping import exceeded, narrow_enough, reason_to_stop, too_small, widths
from mbench.spec.adaptive import MORE_SETS, Adaptive


def sets(*values):
    """process -> round -> rate, two rounds each."""
    return {number: {0: value, 1: value} for number, value in enumerate(values)}


def half_width(baseline, other):
    """At the level that is used if the width of the interval decided when to stop."""
    return stats.ratio(baseline, other).interval(stats.STOPPED_CONFIDENCE).half_width


def test_the_widest_ratio_of_any_two_counts():
    rates = {0: sets(10, 10, 10), 1: sets(20, 19, 20), 2: sets(30, 36, 30)}
    wide = half_width(rates[1], rates[2])
    assert wide > half_width(rates[0], rates[2])
    assert widths(rates, cases=[0, 1, 2], sets=3)[-1] == pytest.approx(wide)
    assert widths(rates, cases=[0, 1], sets=3)[-1] < wide


def test_of_each_moment_only_the_sets_made_by_then_count():
    rates = {0: sets(10, 10, 10, 10, 10), 1: sets(20, 21, 20, 20, 20)}
    seen = widths(rates, cases=[0, 1], sets=5)
    assert seen[:2] == [None, None]
    assert seen[2] == pytest.approx(half_width(sets(10, 10, 10), sets(20, 21, 20)))
    assert seen[2] > seen[3] > seen[4]
    assert widths(rates, cases=[0, 1], sets=4) == seen[:4]


def test_a_single_case_is_judged_by_its_throughput():
    rates = {4: {0: {0: 10.0, 1: 30.0}, 1: {0: 15.0, 1: 15.0}, 2: {0: 16.0, 1: 16.0}}}
    expected = stats.geometric_interval([15.0, 15.0, 16.0], confidence=stats.STOPPED_CONFIDENCE)
    assert widths(rates, cases=[4], sets=3)[-1] == pytest.approx(expected.half_width)


@pytest.mark.parametrize(
    "rates", [{}, {0: sets(10)}, {0: sets(10), 1: sets(11)}, {0: sets(1, 2), 1: {}}]
)
def test_no_interval_is_not_narrow(rates):
    assert widths(rates, cases=[0, 1], sets=2)[-1] is None


@pytest.mark.parametrize(
    ("seen", "enough"),
    [
        ([None, 0.01, 0.01, 0.01], False),  # narrow, but so are few sets by luck
        ([None, 0.01, 0.01, 0.01, 0.01], True),
        ([None, 0.01, 0.03, 0.03, 0.03], False),  # narrow only before the fewest sets were made
        ([None, 0.01, 0.03, 0.03, 0.01], False),  # the first 0.01 came too early to count
        ([None, None, 0.01, 0.03, 0.01], True),  # need not have been narrow in between
        ([None, 0.03, 0.01, None, None], False),  # a framework's interval went missing
        ([], False),
    ],
)
def test_a_width_counts_some_sets_after_it_was_first_reached(seen, enough):
    assert MORE_SETS == 2
    assert narrow_enough(seen, goal=0.02, fewest=3) is enough


def reason(protocol, **state):
    known = {"measured": 5, "elapsed_seconds": 10.0, "least_seconds": 2.0, "widths": ()}
    return reason_to_stop(protocol, **{**known, **state})


def test_without_a_goal_the_count_decides():
    protocol = Adaptive(processes=5)
    assert reason(protocol, measured=4) == ""
    assert reason(protocol, measured=5) == "all processes measured"


def test_with_a_goal_the_width_decides_after_the_fewest_processes():
    protocol = Adaptive(processes=5, half_width_goal=0.02, most_processes=8)
    before = [None, 0.001, 0.001, 0.001]
    assert reason(protocol, measured=4, widths=before) == ""
    assert reason(protocol, measured=7, widths=[*before, 0.019, 0.018, 0.021]) == ""
    assert reason(protocol, measured=7, widths=[*before, 0.019, 0.021, 0.018]) == (
        "as narrow as requested, intervals within ±1.8 % where ±2 % was requested"
    )
    said = reason(protocol, measured=8, widths=[*before, 0.019, 0.021, 0.021, 0.03])
    assert said.startswith("all processes measured, intervals within ±3 % where ±2 %")


def test_the_budget_decides_before_a_set_that_would_not_fit():
    protocol = Adaptive(processes=5, half_width_goal=0.02, budget_seconds=100)
    assert reason(protocol, measured=3, elapsed_seconds=97, least_seconds=3) == ""
    assert reason(protocol, measured=3, elapsed_seconds=97, least_seconds=42.1) == (
        "another set of processes, about 42 s, did not fit into the 100 s"
    )
    assert reason(protocol, measured=3, elapsed_seconds=100, least_seconds=3) == (
        "budget of 100 s spent"
    )
    assert reason(protocol, measured=0, elapsed_seconds=97, least_seconds=30) == ""


def test_sets_that_are_made_in_any_case_do_not_ask_for_the_budget():
    protocol = Adaptive(processes=5, fewest_processes=3, budget_seconds=100)
    late = {"elapsed_seconds": 150, "least_seconds": 40}
    assert reason(protocol, measured=2, **late) == ""
    assert reason(protocol, measured=3, **late) == "budget of 100 s spent"


@pytest.mark.parametrize(
    ("elapsed", "cut_short", "said"),
    [
        (99, False, "all processes measured"),
        (104, True, "all processes measured, rounds cut short by the budget of 100 s"),
        (146, True, "all processes measured, which took 146 s, longer than the 100 s planned"),
    ],
)
def test_a_comparison_that_took_longer_than_planned_says_so(elapsed, cut_short, said):
    asked = {"elapsed_seconds": elapsed, "cut_short": cut_short}
    protocol = Adaptive(budget_seconds=100)
    assert exceeded(protocol, "all processes measured", **asked) == said
    assert exceeded(protocol, "budget of 100 s spent", **asked) == "budget of 100 s spent"


def test_a_round_is_measured_once_all_are_warm_even_if_that_took_longer_than_the_budget():
    protocol = Adaptive(budget_seconds=10)
    state = {"workers": 2, "elapsed_seconds": 99.0, "round_seconds": 2.5}
    assert too_small(protocol, warm=2, **state) == ""
    assert too_small(protocol, warm=1, **state)
    assert too_small(protocol, workers=2, warm=2, elapsed_seconds=8, round_seconds=11)


def test_a_budget_that_holds_one_round_is_large_enough():
    protocol = Adaptive(budget_seconds=10)
    state = {"workers": 2, "warm": 1, "elapsed_seconds": 8.0}
    assert too_small(protocol, **state, round_seconds=2.0) == ""
    assert "give --budget 21 for one round" in too_small(protocol, **state, round_seconds=2.5)
    assert too_small(protocol, workers=2, warm=0, elapsed_seconds=99, round_seconds=0) == ""
    in_any_case = Adaptive(budget_seconds=10, fewest_processes=3)
    assert too_small(in_any_case, **state, round_seconds=2.5) == ""
    assert too_small(in_any_case, **state, round_seconds=25), "three times as long is enough"


@pytest.mark.parametrize(("law", "goal"), [(normal, 0.02), (measured, 0.02), (normal, 0.03)])
def test_intervals_that_stopped_by_their_width_hold_the_truth_as_often_as_they_say(law, goal):
    chance, trials, held = random.Random(0), 500, 0
    for _ in range(trials):
        pairs, seen = [], []
        while not narrow_enough(seen, goal=goal, fewest=5):
            value = math.exp(law(chance))
            pairs.append(stats.Pair(value, value, 0.0, 1))
            made = stats.Ratio(pairs).interval(stats.STOPPED_CONFIDENCE)
            seen.append(made.half_width)
        held += not made.leaves_out(1)
    assert held / trials > 0.93
