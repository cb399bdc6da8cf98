"""What it would take to know more, by intervals whose scatter is known."""

from __future__ import annotations

import pytest

from mbench.results.required_samples import next_step
from mbench.spec.adaptive import Adaptive
from mbench.stats import Interval


def step(half_width, *, pairs=5, set_seconds=30.0, **protocol):
    interval = Interval(1.0, 1 / (1 + half_width), 1 + half_width, pairs)
    return next_step(interval, protocol=Adaptive(**protocol), set_seconds=set_seconds)


def test_the_next_width_is_at_most_half_as_wide_and_has_its_price():
    """Five pairs of ±4.3 % scatter by 3.4 %; ±2 % take 16 of them, and two more."""
    assert step(0.043) == {
        "half_width": 0.02,
        "seconds": 18 * 30.0,
        "options": "--until 2% --budget 600",
    }


def test_more_sets_than_usual_are_asked_for():
    found = step(0.038, set_seconds=1.0)
    assert found["half_width"] == 0.01
    assert "--max-processes" in found["options"]


@pytest.mark.parametrize(("asked", "half_width"), [(0.02, 0.02), (0.05, None)])
def test_a_width_that_was_asked_for_stays_the_goal_until_it_is_reached(asked, half_width):
    found = step(0.043, half_width_goal=asked)
    assert (found and found["half_width"]) == half_width


def test_too_few_pairs_need_pairs():
    few = Interval(1.0, None, None, 2)
    assert next_step(few, protocol=Adaptive(), set_seconds=30.0) == {
        "half_width": None, "seconds": 90.0, "options": "--processes 3 --budget 120",
    }  # fmt: skip


def test_nothing_is_foreseen_where_nothing_is_known_or_narrower_is_of_no_use():
    assert step(0.05, set_seconds=None) is None
    assert step(0.05, set_seconds=1e308) is None
    assert step(10.0, half_width_goal=0.001) is None
    assert step(0.009) is None
