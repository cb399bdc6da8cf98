"""Ratios of pairs: totals first, middle rounds second."""

from __future__ import annotations

import math
import random

import pytest

from mbench.stats import Pair, Ratio, known_scatter, pair_of, pairs_of, ratio


def pair(chance, *, true, processes=5, rounds=4, offset=0.025, noise=0.01):
    """Throughputs of two frameworks whose processes carry offsets of their own."""

    def one(rate):
        return {
            process: {
                at: rate * math.exp(own + chance.gauss(0, noise)) for at in range(rounds)
            }
            for process, own in ((p, chance.gauss(0, offset)) for p in range(processes))
        }  # fmt: skip

    return one(100.0), one(100.0 * true)


def test_a_pair_is_the_ratio_of_steps_by_seconds_over_common_rounds():
    """Blocks of one step: 1 + 1 + 2 s against 0.5 + 0.5 + 4 s."""
    found = pair_of({0: 1.0, 1: 1.0, 2: 0.5, 3: 9.0}, {0: 2.0, 1: 2.0, 2: 0.25, 7: 9.0})
    assert found.total == pytest.approx((3 / 5) / (3 / 4))
    assert found.median == pytest.approx(2.0)
    assert found.rounds == 3


def test_the_error_within_a_pair_is_what_rounds_scatter():
    """By simulation, it is the variance of the logarithm of a pair's total without any offsets."""
    chance = random.Random(0)
    sides = [pair(chance, true=1.2, processes=2000, rounds=8, offset=0, noise=0.05)]
    found = pairs_of(*sides[0])
    logs = [math.log(one.total / 1.2) for one in found]
    seen = sum(x * x for x in logs) / len(logs)
    assert sum(one.error for one in found) / len(found) == pytest.approx(seen, rel=0.08)
    assert pair_of({0: 1.0}, {0: 2.0}).error == 0


def test_what_slows_both_alike_is_no_error():
    slow = {at: 100.0 / (1 + at % 2) for at in range(6)}
    assert pair_of(slow, {at: 3 * rate for at, rate in slow.items()}).error == pytest.approx(0)


def test_the_ratio_is_of_the_other_to_the_baseline():
    baseline = {at: {0: 10.0 * (at + 1)} for at in range(3)}
    other = {at: {0: 20.0 * (at + 1)} for at in range(3)}
    assert ratio(baseline, other).interval().value == pytest.approx(2.0)
    assert ratio(other, baseline).interval().value == pytest.approx(0.5)


def test_only_rounds_that_both_have_make_pairs():
    baseline = {0: {0: 10.0, 1: 10.0, 2: 999.0}, 1: {0: 10.0}, 2: {0: 10.0}, 3: {0: 10.0}}
    other = {0: {0: 20.0, 1: 20.0, 3: 1.0}, 1: {1: 1.0}, 2: {0: 20.0}, 4: {0: 1.0}}
    assert pairs_of(baseline, other) == [Pair(2.0, 2.0, 0.0, 2), Pair(2.0, 2.0, 0.0, 1)]


@pytest.mark.parametrize(
    ("baseline", "other"), [({}, {}), ({0: {0: 1.0}}, {}), ({0: {0: 1.0}}, {0: {1: 1.0}})]
)
def test_no_shared_round_no_ratio(baseline, other):
    assert ratio(baseline, other) is None


def test_two_pairs_have_a_ratio_and_no_interval():
    """Two pairs once printed 1.07 (1.07 .. 1.08), where four other runs printed 1.14 to 1.16."""
    made = ratio({0: {0: 1.0}, 1: {0: 1.0}}, {0: {0: 1.07}, 1: {0: 1.075}})
    assert made.interval().value == pytest.approx(1.0725, abs=1e-4)
    assert made.interval().low is made.interval().high is None


def test_three_pairs_that_agree_by_luck_are_not_narrow():
    """Rounds scatter by 5 %, but pairs agree to 0.1 %."""
    chance = random.Random(0)
    noise = [math.exp(chance.gauss(0, 0.05)) for _ in range(9)]
    base = {p: dict(enumerate(noise)) for p in range(3)}
    other = {
        p: {at: 1.07 * (1 + p / 1000) * rate for at, rate in enumerate(reversed(noise))}
        for p in range(3)
    }
    assert ratio(base, other).interval().half_width > 0.02


def test_what_is_known_beforehand_counts():
    base = {at: {0: 1.0} for at in range(3)}
    other = {at: {0: 1.07 + at / 1000} for at in range(3)}
    known = known_scatter([[0.97, 1.03, 0.98, 1.04, 1.02, 0.98, 0.95]] * 2)
    alone, pooled = (ratio(base, other, known=k).interval() for k in (None, known))
    assert pooled.half_width > 4 * alone.half_width


def stalled(*, every, factor, rounds=20, processes=5):
    """The ratio if the second side stalls in one of `every` blocks; noise and offsets are 1 %."""
    base, other = pair(
        random.Random(0), true=1.0, processes=processes, rounds=rounds, offset=0.01, noise=0.01
    )
    for process in other.values():
        for at in range(0, rounds, every):
            process[at] /= factor
    return ratio(base, other)


@pytest.mark.parametrize(
    ("every", "factor", "total"), [(10, 3, 0.833), (5, 2, 0.833), (3, 2, 0.741)]
)
def test_stalls_are_paid_and_said(every, factor, total):
    made = stalled(every=every, factor=factor)
    assert made.interval().value == pytest.approx(total, rel=0.03)
    assert made.median == pytest.approx(1.0, abs=0.02)
    assert made.depends_on_stalls(made.interval())


def test_noise_is_seldom_called_stalls():
    chance, said = random.Random(3), 0
    for _ in range(300):
        made = ratio(*pair(chance, true=1.3, rounds=12, offset=0.02, noise=0.08))
        said += made.depends_on_stalls(made.interval())
    assert said <= 9


def test_pairs_far_off_are_counted_where_ranks_pass_them_over():
    def of(*values):
        return Ratio([Pair(value, value, 0.0, 1) for value in values])

    usual = [1 + 0.01 * at for at in range(-4, 5)]
    assert of(*usual, 0.69).far_off == 1
    assert of(*usual, 1.0).far_off == 0
    assert of(*usual[1:], 0.69).far_off == 0, "Student's interval takes all nine"


def test_without_an_interval_nothing_is_said_of_stalls():
    made = stalled(every=5, factor=2, processes=2)
    assert not made.depends_on_stalls(made.interval())


@pytest.mark.parametrize(
    ("processes", "offset", "noise"), [(5, 0.025, 0.01), (3, 0.025, 0.01), (8, 0.005, 0.03)]
)
def test_intervals_hold_the_truth_as_often_as_they_say(processes, offset, noise):
    chance, true, trials = random.Random(0), 1.03, 800
    held = 0
    for _ in range(trials):
        sides = pair(chance, true=true, processes=processes, offset=offset, noise=noise)
        made = ratio(*sides).interval()
        held += made.low <= true <= made.high
    assert 0.93 <= held / trials <= 0.99  # none is narrower than noise within pairs allows


@pytest.mark.parametrize(
    ("processes", "rounds", "freedom"), [(5, 4, 2 * 4), (3, 30, 2 * 2), (3, 2, 3), (5, 2, 5)]
)
def test_noise_within_pairs_counts_by_twice_their_freedom_or_all_rounds(processes, rounds, freedom):
    made = ratio(*pair(random.Random(0), true=1.1, processes=processes, rounds=rounds))
    assert made.within.freedom == freedom
    errors = [one.error for one in made.pairs]
    assert made.within.variance == pytest.approx(sum(errors) / processes)


@pytest.mark.parametrize(("processes", "rounds"), [(5, 1), (1, 9)])
def test_noise_within_pairs_is_unknown_without_rounds_or_pairs(processes, rounds):
    sides = pair(random.Random(0), true=1.1, processes=processes, rounds=rounds)
    assert ratio(*sides).within is None


@pytest.mark.parametrize(("processes", "offset", "least"), [(3, 0.015, 0.95), (10, 0.005, 0.92)])
def test_pairs_that_are_narrow_by_luck_hold_the_truth_too(processes, offset, least):
    """This is the narrowest quarter of intervals. With three pairs, 89 % held the truth if noise
    had the freedom of all its rounds; with ten pairs, 81 % did by ranks alone.
    """
    chance, found = random.Random(0), []
    for _ in range(1200):
        sides = pair(chance, true=1.1, processes=processes, rounds=8, offset=offset, noise=0.05)
        made = ratio(*sides).interval()
        found.append((made.half_width, made.low <= 1.1 <= made.high))
    narrow = sorted(found)[:300]
    assert sum(held for _, held in narrow) / 300 > least


def test_pairs_without_offsets_hold_the_truth_and_are_less_wide_than_by_their_own_freedom():
    """Steady workers make such pairs; benchmarks/coverage.py tests them with recorded noise."""
    chance, held, narrower = random.Random(0), 0, 0
    for _ in range(500):
        made = ratio(*pair(chance, true=1.1, rounds=8, offset=0.0))
        interval = made.interval()
        held += interval.low <= 1.1 <= interval.high
        old = 2.776 * math.sqrt(made.within.variance / 5)
        narrower += math.log(interval.high / interval.low) / 2 < old
    assert held / 500 > 0.95
    assert narrower / 500 > 0.5
