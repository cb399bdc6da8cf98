"""How effort is split between processes and rounds, tested with known variances."""

from __future__ import annotations

import math
import random

import pytest

from mbench.measure.stopping import variances, worthwhile_rounds


def rates(*, processes, rounds, within, between, seed=0):
    """process -> round -> throughput, for two cases; only the second one scatters."""
    chance = random.Random(seed)
    baseline = {p: dict.fromkeys(range(rounds), 100.0) for p in range(processes)}
    other = {}
    for process in range(processes):
        offset = chance.gauss(0, between)
        other[process] = {
            r: 100 * math.exp(offset + chance.gauss(0, within)) for r in range(rounds)
        }
    return baseline, other


def test_both_variances_are_found_again():
    within, between = variances(*rates(processes=400, rounds=20, within=0.03, between=0.01))
    assert within == pytest.approx(0.03**2, rel=0.1)
    assert between == pytest.approx(0.01**2, rel=0.35)


def test_noise_within_is_not_taken_for_scatter_between():
    found = [
        variances(*rates(processes=5, rounds=6, within=0.03, between=0.0, seed=seed))[1]
        for seed in range(200)
    ]
    assert sum(found) / len(found) < 0.2 * 0.03**2 / 6 * 5
    assert found.count(0.0) > 60


@pytest.mark.parametrize("counts", [(0, 5), (1, 5), (5, 1)])
def test_too_little_tells_nothing(counts):
    processes, rounds = counts
    assert variances(*rates(processes=processes, rounds=rounds, within=1, between=1)) is None


def test_rounds_without_a_partner_do_not_count():
    baseline, other = rates(processes=3, rounds=3, within=0.1, between=0.1)
    del other[2]
    del baseline[1][0], baseline[1][1]
    assert variances(baseline, other) is None


@pytest.mark.parametrize(
    ("within", "between", "setup", "rounds"),
    [(0.02, 0.02, 8, 2), (0.04, 0.01, 8, 8), (0.04, 0.01, 2, 4), (0.01, 0.04, 8, 0.5)],
)
def test_the_costlier_level_is_used_as_often_as_it_pays(within, between, setup, rounds):
    baseline, other = rates(processes=500, rounds=30, within=within, between=between)
    found = worthwhile_rounds(
        {0: baseline, 1: other}, cases=[0, 1], setup_seconds=setup, round_seconds=2.0
    )
    assert found == pytest.approx(rounds, rel=0.2)


def test_the_ratio_that_needs_most_rounds_decides():
    baseline, calm = rates(processes=300, rounds=4, within=0.01, between=0.01)
    _, noisy = rates(processes=300, rounds=4, within=0.05, between=0.01)
    seconds = {"setup_seconds": 4, "round_seconds": 1}
    alone = worthwhile_rounds({0: baseline, 1: noisy}, cases=[0, 1], **seconds)
    both = worthwhile_rounds({0: baseline, 1: calm, 2: noisy}, cases=[0, 1, 2], **seconds)
    assert both == alone


def test_nothing_is_said_while_a_ratio_is_missing():
    baseline, other = rates(processes=3, rounds=3, within=0.1, between=0.1)
    seconds = {"setup_seconds": 4, "round_seconds": 1}
    assert worthwhile_rounds({0: baseline, 1: other}, cases=[0, 1, 2], **seconds) is None
    assert worthwhile_rounds({}, cases=[0, 1], **seconds) is None
    assert worthwhile_rounds({0: baseline}, cases=[0], **seconds) is None


def test_pairs_that_do_not_differ_ask_for_rounds_without_end():
    baseline = {p: {0: 100.0, 1: 101.0} for p in range(3)}
    other = {p: {0: 101.0, 1: 100.0} for p in range(3)}
    seconds = {"setup_seconds": 4, "round_seconds": 1}
    assert worthwhile_rounds({0: baseline, 1: other}, cases=[0, 1], **seconds) == math.inf
