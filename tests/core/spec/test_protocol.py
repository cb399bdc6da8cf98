"""The constants of protocols, and how many rounds a set of workers gets."""

from __future__ import annotations

import math

import pytest

from mbench.errors import UsageError
from mbench.spec.adaptive import Adaptive
from mbench.spec.fixed_steps import Counted
from mbench.spec.presets import PRESETS


def rounds_of(protocol, **known):
    """The number of rounds in the first set."""
    share = protocol.share_seconds(measured=0, elapsed_seconds=0.0)
    return protocol.rounds_for(share_seconds=share, **known)


@pytest.mark.parametrize(
    ("setup", "per_round", "rounds"),
    [
        (16.0, 4.0, 5),  # 180 s for five sets is 36 s each
        (15.9, 4.0, 5),
        (0.0, 0.1, 30),  # no more than thirty
        (0.0, 5.0, 7),
        (30.0, 4.0, 3),  # no fewer than three
        (100.0, 4.0, 3),  # even with the share spent
    ],
)
def test_rounds_fill_the_share_of_the_budget(setup, per_round, rounds):
    protocol = Adaptive(processes=5, budget_seconds=180)
    assert rounds_of(protocol, setup_seconds=setup, round_seconds=per_round) == rounds


@pytest.mark.parametrize(
    ("measured", "elapsed", "share"),
    [
        (0, 0.0, 20.0),
        (1, 20.0, 20.0),
        (2, 55.0, 15.0),  # 45 s are left for three
        (2, 10.0, 20.0),  # what other sets leave is not added
        (4, 98.0, 2.0),
        (7, 60.0, 20.0),  # more sets than asked for, as a width is the goal
        (3, 120.0, -10.0),
    ],
)
def test_a_set_that_took_longer_leaves_less_to_those_after_it(measured, elapsed, share):
    protocol = Adaptive(processes=5, budget_seconds=100)
    assert protocol.share_seconds(measured=measured, elapsed_seconds=elapsed) == share


def test_more_processes_leave_fewer_rounds_each():
    few, many = (Adaptive(processes=count, budget_seconds=100) for count in (2, 10))
    assert rounds_of(few, setup_seconds=2, round_seconds=2) == 24
    assert rounds_of(many, setup_seconds=2, round_seconds=2) == 4


@pytest.mark.parametrize(
    ("paying", "rounds"), [(0.4, 3), (3.9, 3), (7.2, 7), (25.0, 25), (math.inf, 60)]
)
def test_rounds_that_pay_are_given_within_bounds(paying, rounds):
    protocol = Adaptive(budget_seconds=1.0)
    assert rounds_of(protocol, setup_seconds=9, round_seconds=9, paying=paying) == rounds


@pytest.mark.parametrize("rounds", [1, 2, 50])
def test_rounds_that_are_asked_for_are_given(rounds):
    protocol = Adaptive(rounds=rounds)
    assert rounds_of(protocol, setup_seconds=1000, round_seconds=1000) == rounds


def test_the_published_protocols_have_their_published_constants():
    dlperf, superbench, nvidia = (PRESETS[name] for name in ("dlperf", "superbench", "nvidia"))
    assert (dlperf.processes, dlperf.steps_before, dlperf.steps) == (7, 20, 100)
    assert (superbench.steps_before, superbench.steps, superbench.processes) == (64, 2048, 1)
    assert superbench.step_by_step == ("train", "inference")
    assert (nvidia.steps, nvidia.counted_epochs, nvidia.steps_before) == (500, 2, 500)
    assert (dlperf.step_by_step, nvidia.step_by_step) == ((), ("inference",))


def test_the_first_step_never_counts():
    assert Counted(name="bare", steps=5).steps_before == 1


def test_every_build_has_a_round():
    assert rounds_of(Adaptive(builds=7), setup_seconds=1000, round_seconds=1) == 7
    with pytest.raises(UsageError, match="--rounds 3 is less than --builds 4"):
        Adaptive(builds=4, rounds=3)
