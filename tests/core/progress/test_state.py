"""What is left of a run, from its plan and from what was seen of it."""

from __future__ import annotations

import pytest

from mbench.progress.state import ProgressState


@pytest.fixture
def course(clock):
    made = ProgressState(clock)
    made.planned = [160.0, 160.0]
    made.comparison("one", ["a", "b"])
    return made


def test_it_says_which_comparison_and_which_process(course):
    assert course.place() == "comparison 1 of 2"
    course.measuring(5, 160.0)
    course.begin_process(3)
    assert course.place() == "comparison 1 of 2, process 3 of 5"
    course.planned = [None]
    assert course.place() == "process 3 of 5"
    course.measuring(None, 160.0)
    assert course.place() == "process 3"


def test_before_anything_was_seen_the_plan_is_what_is_left(course, clock):
    assert course.left() == 320.0
    clock.now += 20  # of proofs, which are not in the plan
    assert course.times() == "20 s elapsed, then about 5 min of measuring"
    course.measuring(5, 160.0)
    assert course.left() == 320.0
    clock.now += 60
    assert course.left() == 260.0
    assert course.times() == "80 s elapsed, about 4 min left"


def test_processes_that_were_fast_leave_less_than_the_budget(course, clock):
    course.measuring(5, 160.0)
    course.begin_process(1)
    clock.now += 15
    course.begin_process(2)
    assert course.left_here() == pytest.approx(15 / 1.5 * 3.5)


def test_a_run_that_is_resumed_takes_its_pace_from_what_it_made_itself(course, clock):
    course.measuring(5, None)
    course.planned = [None]
    course.begin_process(4)
    clock.now += 30
    assert course.left() is None
    course.begin_process(5)
    assert course.left() == pytest.approx(30 / 1.5 * 0.5)


def test_what_is_to_come_is_corrected_by_what_others_took(course, clock):
    clock.now += 240
    course.comparison("two", ["a", "b"])
    course.planned = [160.0, 160.0, 160.0]
    course.measuring(5, 160.0)
    assert course.left() == pytest.approx(160 + 1.5 * 160)


def test_what_is_not_known_is_not_said(course, clock):
    course.planned = [160.0, None]
    course.measuring(5, 160.0)
    assert course.left() is None
    assert course.times() == "0 s elapsed"


def test_where_a_width_ends_it_the_budget_is_the_most(course):
    course.planned = [600.0]
    course.measuring(None, 600.0)
    assert course.times() == "0 s elapsed, at most 10 min left"
