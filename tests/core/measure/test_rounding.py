"""If the results of cases differ, it is measured how far rounding alone carries them."""

from __future__ import annotations

import pytest
from support.experiments import asked

from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.measure.rounding import measure_rounding
from mbench.results import events
from mbench.results.events import Changes
from mbench.results.records import CaseRecord, Process
from mbench.results.validity import doubts
from mbench.spec.planning import plan


def test_nobody_is_asked_where_all_agree(measure, world):
    world.nudged = {"tiny": 5.0, "flaky": 5.0}
    store = measure(processes=2, rounds=9, frameworks=("tiny", "flaky"))
    assert [doubt for case in store.run.cases.values() for doubt in doubts(case, case)] == []
    assert store.of(events.Rounding) == []


def test_two_that_lie_apart_are_nudged_three_times_if_that_may_explain_it(measure, world):
    world.losses = {"flaky": 4.2}
    world.nudged = {"tiny": 4.02, "flaky": 4.215}
    store = measure(processes=2, rounds=9, frameworks=("tiny", "flaky"))
    for case in range(2):
        found = [one for one in store.of(events.Rounding) if one.case == case and one.step == 16]
        assert [one.number for one in found] == [1, 2, 3]
    found = {one.case: one for one in store.of(events.Rounding) if one.step == 16}
    assert found[0].answers == found[0].norm == found[0].tensor == pytest.approx(0.005)
    assert found[0].direction == pytest.approx(0.005 * 5**0.5)
    assert found[0].statistics == 0.0
    told = [at for at, one in enumerate(store.events) if isinstance(one, events.Rounding)]
    last = max(at for at, one in enumerate(store.events) if isinstance(one, events.Memory))
    assert max(told) < last, "in the first set"


def test_no_other_nudge_is_needed_where_none_could_explain_it(measure, world):
    world.losses = {"flaky": 4.2}
    world.nudged = {"tiny": 4.4, "flaky": 4.2}
    store = measure(processes=2, rounds=9, frameworks=("tiny", "flaky"))
    assert {one.case: one.number for one in store.of(events.Rounding)} == {0: 1, 1: 1}


def test_no_other_nudge_is_needed_where_the_first_explains_it(measure, world):
    world.losses = {"flaky": 4.2}
    world.nudged = dict.fromkeys(("tiny", "flaky"), 4.4)
    store = measure(processes=2, rounds=9, frameworks=("tiny", "flaky"))
    assert {one.number for one in store.of(events.Rounding)} == {1}


def test_outputs_that_lie_apart_are_asked_how_far_a_unit_carries_them(measure, world):
    world.outputs = {"tiny": 4.0, "flaky": 4.4}
    world.losses, world.nudged = {"tiny": 4.0, "flaky": 4.0}, {"tiny": 4.4, "flaky": 4.2}
    store = measure(processes=1, rounds=2, mode="inference", frameworks=("tiny", "flaky"))
    found = {one.case: one for one in store.of(events.Rounding)}
    assert found[0].answers == pytest.approx(0.1 * 5**0.5)
    assert found[1].answers == pytest.approx(0.05 * 5**0.5)
    assert found[0].norm == found[0].direction == 0.0


def test_outputs_that_agree_are_not_asked(measure, world):
    world.outputs = {"tiny": 4.0, "flaky": 4.0}
    store = measure(processes=1, rounds=2, mode="inference", frameworks=("tiny", "flaky"))
    assert store.of(events.Rounding) == []


def test_a_worker_that_answers_nonsense_falls_short(measure, world):
    world.losses = {"flaky": 4.2}
    world.nonsense = {("flaky", wire.Nudged): wire.Nudged(canonical=[], nudged=[])}
    store = measure(processes=1, rounds=9, frameworks=("tiny", "flaky"))
    assert [(case, outcome) for case, outcome, reason in store.outcomes] == [(1, "failed")]
    assert "the worker ran different steps from those" in store.outcomes[0][2]
    assert {one.case for one in store.of(events.Rounding)} == {0}


class Drawing:
    """A worker whose updates have these sizes: each series of steps has the next one."""

    unit, loss = 0.0, 7.0

    def __init__(self, *sizes):
        self.sizes, self.asked = list(sizes), []

    def ask(self, message, answer, *, timeout):
        self.asked.append(message.steps)
        canonical, nudged = (self.series(self.sizes.pop(0)) for _ in range(2))
        return answer(canonical=canonical, nudged=nudged, unit=self.unit)

    def series(self, size):
        return [
            wire.Seen(step=step, batch=0, loss=self.loss, changes={"weight": [size] + [0.0] * 5})
            for step in range(1, self.asked[-1] + 1)
        ]


NINE = ((7 * 0.3**2 + 2 * (0.3 / 1.3) ** 2) / 15) ** 0.5
"""Root mean square over 15 pairs: nine lie 0.3 apart, two of these relative to 1.3."""


@pytest.mark.parametrize(
    ("model", "sizes", "norm"),
    [("resnet18", [1.0, 1.1], 0.1), ("bert-base", [1.0, 1.0, 1.3, 1.3, 1.0, 1.3], NINE)],
)
def test_masks_are_drawn_several_times(plugins, model, sizes, norm):
    """Two series may go equally far by chance, as the first two do here."""
    (comparison,) = plan(asked(frameworks=("tiny",), wanted={"model": (model,)}), plugins)
    worker = Drawing(*sizes)
    (found,) = measured(comparison.entries[0], worker)
    assert not worker.sizes
    assert found.norm == pytest.approx(norm)


def measured(entry, worker, *, compared=16, came=1.0):
    """What is measured of a case whose changes were compared after so many steps, and came so far
    by then.
    """
    record = CaseRecord(planned=None)
    parameters = {"weight": (came, *[0.0] * 5)}
    changes = [
        Changes(case=0, process=0, step=step, due=1.0, parameters=parameters)
        for step in (4, compared)
    ]
    record.processes = {0: Process(warm=None, changes=changes)}
    return measure_rounding(entry, record, worker, timeout=1.0)


@pytest.mark.parametrize(("compared", "last"), [(4, 16), (31, 16), (49, 32), (1000, 64)])
def test_it_is_measured_for_as_many_steps_as_were_compared(plugins, compared, last):
    (comparison,) = plan(asked(frameworks=("tiny",), wanted={"model": ("resnet18",)}), plugins)
    worker = Drawing(1.0, 1.1)
    found = measured(comparison.entries[0], worker, compared=compared)
    assert [one.step for one in found] == [step for step in (16, 32, 64) if step <= last]
    assert worker.asked == [last]


def test_a_worker_must_say_what_each_step_left(plugins):
    (comparison,) = plan(asked(frameworks=("tiny",), wanted={"model": ("resnet18",)}), plugins)
    worker = Drawing(1.0, 1.1)
    worker.loss = None
    with pytest.raises(Malformed, match="did not report the result of 1 step"):
        measured(comparison.entries[0], worker)


def test_updates_are_rounded_to_the_precision_of_parameters(plugins):
    """By 0.41 of a unit in each step, and four times that in 16 random ones. What counts is how far
    the case itself came, on other data in each block.
    """
    (comparison,) = plan(asked(frameworks=("tiny",), wanted={"model": ("resnet18",)}), plugins)
    worker = Drawing(2.0, 2.0)
    worker.unit = 0.1
    (found,) = measured(comparison.entries[0], worker, came=0.5)
    assert found.grid == pytest.approx(0.41 * 4 * 0.1 / 0.5)
    assert found.direction == 0.0


def test_no_rounding_excuses_what_did_not_move(plugins):
    (comparison,) = plan(asked(frameworks=("tiny",), wanted={"model": ("resnet18",)}), plugins)
    worker = Drawing(2.0, 2.0)
    worker.unit = 0.1
    (found,) = measured(comparison.entries[0], worker, came=0.0)
    assert found.grid == 0.0
