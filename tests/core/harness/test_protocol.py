"""How many rounds a set of workers gets."""

from __future__ import annotations

import pytest

from mbench.harness.protocol import Protocol


@pytest.mark.parametrize(
    ("setup", "per_round", "rounds"),
    [
        (16.0, 4.0, 5),  # 180 s for five sets is 36 s each
        (15.9, 4.0, 5),
        (0.0, 0.1, 10),  # no more than ten
        (0.0, 5.0, 7),
        (30.0, 4.0, 3),  # no fewer than three
        (100.0, 4.0, 3),  # even with the share spent
    ],
)
def test_rounds_fill_the_share_of_the_budget(setup, per_round, rounds):
    protocol = Protocol(processes=5, budget_seconds=180)
    assert protocol.rounds_for(setup_seconds=setup, round_seconds=per_round) == rounds


def test_more_processes_leave_fewer_rounds_each():
    few, many = (Protocol(processes=count, budget_seconds=100) for count in (2, 10))
    assert few.rounds_for(setup_seconds=2, round_seconds=2) == 10
    assert many.rounds_for(setup_seconds=2, round_seconds=2) == 4


@pytest.mark.parametrize("rounds", [1, 2, 50])
def test_rounds_that_are_asked_for_are_given(rounds):
    protocol = Protocol(rounds=rounds)
    assert protocol.rounds_for(setup_seconds=1000, round_seconds=1000) == rounds
