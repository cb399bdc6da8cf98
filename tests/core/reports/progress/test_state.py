"""The time that is left of a run, from its plan and from what was observed so far."""

from __future__ import annotations

import pytest

from mbench.measure.activity import BlockBegan, ComparisonBegan, MeasuringBegan, ProcessBegan
from mbench.reports.progress.state import ProgressState


@pytest.fixture
def state(clock):
    made = ProgressState(clock)
    made.planned = [160.0, 160.0]
    made.hear(ComparisonBegan("one", ("a", "b")))
    return made


def test_it_says_which_comparison_and_which_process(state):
    assert state.position() == "comparison 1 of 2"
    state.hear(MeasuringBegan(5, 160.0))
    state.hear(ProcessBegan(3))
    assert state.position() == "comparison 1 of 2, process 3 of 5"
    state.planned = [None]
    assert state.position() == "process 3 of 5"
    state.hear(MeasuringBegan(None, 160.0))
    assert state.position() == "process 3"


def test_before_anything_was_seen_the_plan_is_what_is_left(state, clock):
    assert state.left() == 320.0
    clock.now += 20  # of proofs, which are not in the plan
    assert state.times() == "20 s elapsed, then about 5 min of measuring"
    state.hear(MeasuringBegan(5, 160.0))
    assert state.left() == 320.0
    clock.now += 60
    assert state.left() == 260.0
    assert state.times() == "80 s elapsed, at most 4 min left"
    state.hear(ProcessBegan(1))
    rounds(state, clock, done=2, of=2, seconds=1)
    state.hear(ProcessBegan(2))
    assert state.times() == "82 s elapsed, about 3 min left", "once it has seen one"
    state.hear(ComparisonBegan("fast", ("a", "b")))
    state.hear(MeasuringBegan(3, 120.0, 3))
    assert "about" in state.times(), "its sets are made even if they take longer"


def rounds(state, clock, *, done, of, seconds):
    """Run the first `done` of the `of` rounds of a set, each of which takes `seconds`."""
    for at in range(done):
        state.hear(BlockBegan("a", "round", at, of, seconds))
        clock.now += seconds


def test_sets_take_what_those_before_took(state, clock):
    state.hear(MeasuringBegan(5, 160.0))
    state.hear(ProcessBegan(1))
    clock.now += 9
    rounds(state, clock, done=6, of=6, seconds=1)
    state.hear(ProcessBegan(2))
    assert state.left_here() == pytest.approx(4 * 15)
    clock.now += 12  # longer than it took to set up the first
    assert state.left_here() == pytest.approx(6 + 3 * 15)


def test_a_set_that_has_begun_is_measured_to_its_end(state, clock):
    """Once, 16 s were reported to be left after 2 min, but it took another 42 s."""
    state.hear(MeasuringBegan(3, 120.0))
    for number in (1, 2, 3):
        state.hear(ProcessBegan(number))
        clock.now += 42
        if number < 3:
            rounds(state, clock, done=3, of=3, seconds=3)
    assert state.measured() == pytest.approx(144)
    assert state.left_here() == pytest.approx(9)
    rounds(state, clock, done=2, of=3, seconds=6)
    assert 4 < state.left_here() < 12


def test_sets_that_will_not_fit_are_not_waited_for_unless_they_are_made_in_any_case(state, clock):
    for fewest, left in ((1, 42), (3, 42 + 42)):
        state.hear(ComparisonBegan("one", ("a", "b")))
        state.planned = (120.0,) * state.number
        state.hear(MeasuringBegan(5, 100.0, fewest))
        state.hear(ProcessBegan(1))
        clock.now += 42
        state.hear(ProcessBegan(2))
        assert state.left_here() == pytest.approx(left)


def test_the_first_set_tells_of_the_others_by_its_rounds(state, clock):
    state.hear(MeasuringBegan(5, 160.0))
    state.hear(ProcessBegan(1))
    clock.now += 10
    assert state.left_here() == 150, "nothing is known but the budget"
    rounds(state, clock, done=5, of=10, seconds=2)
    state.hear(BlockBegan("a", "round", 5, 10, 2))
    assert 5 * 27 < state.left_here() + 20 < 5 * 33


def test_a_run_that_is_resumed_takes_its_pace_from_what_it_made_itself(state, clock):
    state.hear(MeasuringBegan(5, None))
    state.planned = (None,)
    state.hear(ProcessBegan(4))
    clock.now += 30
    assert state.left() is None
    state.hear(ProcessBegan(5))
    assert state.left() == pytest.approx(30)


def test_what_is_to_come_is_corrected_by_what_others_took(state, clock):
    clock.now += 240
    state.hear(ComparisonBegan("two", ("a", "b")))
    state.planned = [160.0, 160.0, 160.0]
    state.hear(MeasuringBegan(5, 160.0))
    assert state.left() == pytest.approx(160 + 1.5 * 160)


def test_what_is_not_known_is_not_said(state, clock):
    state.planned = [160.0, None]
    state.hear(MeasuringBegan(5, 160.0))
    assert state.left() is None
    assert state.times() == "0 s elapsed"


def test_where_a_width_ends_it_the_budget_is_the_most(state):
    state.planned = [600.0]
    state.hear(MeasuringBegan(None, 600.0))
    assert state.times() == "0 s elapsed, at most 10 min left"
