"""Updates are compared with what the first ones predict, and with those of another case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evidenced import make_process, make_record, said

WEIGHT = (1.0, 0.6, -0.8)
MOMENTUM = 0.9
SHUFFLENET = {4: 0.151, 16: 1.0, 130: 8.75, 337: 15.9, 380: 17.0, 799: 27.2}
"""Steps -> how far honest frameworks came in fp32, relative to step 16, as observed. They fall more
and more behind what is due."""


def due(steps):
    """How far parameters come with momentum and constant gradients."""
    return (steps - MOMENTUM * (1 - MOMENTUM**steps) / (1 - MOMENTUM)) / (1 - MOMENTUM)


def looked_at(way, *, label="tiny"):
    """A case of one process; `way` maps steps to how far its parameters have come by then."""
    process = make_process(
        changes=[(steps, tuple(far * one for one in WEIGHT)) for steps, far in way.items()]
    )
    process.changes = [replace(one, due=due(one.step)) for one in process.changes]
    return make_record(process, label=label)


def learning(steps):
    """A case that has learnt as ShuffleNet does, for this number of steps."""
    return looked_at({at: SHUFFLENET[at] for at in (4, 16, steps)})


def constant(steps, *, times=1.0, label="tiny"):
    """A case with constant gradients; what comes after step 16 goes `times` as far."""
    later = 1 + times * (due(steps) / due(16) - 1)
    return looked_at({4: due(4) / due(16), 16: 1.0, steps: later}, label=label)


@pytest.mark.parametrize("steps", [130, 337, 380, 799])
@pytest.mark.parametrize("of_other", [130, 380, 799])
def test_what_learns_comes_less_far_than_is_due(steps, of_other):
    assert said(learning(steps)) == []
    assert said(learning(steps), learning(of_other)) == []


@pytest.mark.parametrize("of_other", [17, 40, 130, 900])
def test_gradients_may_stay_as_they_are(of_other):
    assert said(constant(130)) == []
    assert said(constant(130), constant(of_other)) == []


def test_the_first_few_steps_foretell_nothing():
    """They do not use all batches."""
    assert said(looked_at({4: 0.5, 16: 1.0, 130: due(130) / due(16)})) == []


@pytest.mark.parametrize(("times", "steps"), [(0.0, 30), (0.0, 130), (0.05, 800), (1.5, 130)])
def test_updates_that_end_or_hurry_are_told_without_another_case(times, steps):
    (text,) = said(constant(steps, times=times, label="flaky"))
    assert text.startswith(f"flaky: updates of {steps} timed steps are ")
    assert text.endswith(" times what those of the first 16 predict")


@pytest.mark.parametrize("times", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("steps", [60, 131, 300])
def test_updates_that_are_left_out_later_are_told_beside_another_case(times, steps):
    honest, lie = constant(130), constant(steps, times=times, label="flaky")
    (text,) = said(honest, lie)
    assert text.startswith(f"flaky: updates of {steps} timed steps are ")
    assert text.endswith(" times what those of tiny predict")
    assert said(lie, honest) != []


def test_every_second_update_of_what_learns_is_told_beside_another_case():
    half = {at: SHUFFLENET[at] for at in (4, 16)} | {337: 1 + 0.5 * (SHUFFLENET[337] - 1)}
    (text,) = said(learning(380), looked_at(half, label="flaky"))
    assert text == "flaky: updates of 337 timed steps are 0.55 times what those of tiny predict"


def test_processes_of_like_lengths_are_compared():
    """The other process of the baseline is too short to predict much."""
    short, long = constant(17, times=3.0), constant(130)
    both = make_record(*short.processes.values(), *(
        replace_number(process, 1) for process in long.processes.values()
    ))  # fmt: skip
    assert said(both, constant(130)) == []
    assert said(both, constant(130, times=0.5)) != []


def replace_number(process, number):
    process.warm = replace(process.warm, process=number)
    process.changes = [replace(one, process=number) for one in process.changes]
    return process
