"""What is left of a run, from its plan and from what was seen of it."""

from __future__ import annotations

import pytest

from mbench.measure.activity import ComparisonBegan, MeasuringBegan, ProcessBegan
from mbench.progress.state import ProgressState


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
    assert state.times() == "80 s elapsed, about 4 min left"


def test_processes_that_were_fast_leave_less_than_the_budget(state, clock):
    state.hear(MeasuringBegan(5, 160.0))
    state.hear(ProcessBegan(1))
    clock.now += 15
    state.hear(ProcessBegan(2))
    assert state.left_here() == pytest.approx(15 / 1.5 * 3.5)


def test_a_run_that_is_resumed_takes_its_pace_from_what_it_made_itself(state, clock):
    state.hear(MeasuringBegan(5, None))
    state.planned = [None]
    state.hear(ProcessBegan(4))
    clock.now += 30
    assert state.left() is None
    state.hear(ProcessBegan(5))
    assert state.left() == pytest.approx(30 / 1.5 * 0.5)


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
