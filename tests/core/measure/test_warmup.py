"""The end of the warm-up, on step times that are made up."""

from __future__ import annotations

import random
from itertools import count

import pytest

from mbench.measure.warmup import is_steady, warm_up


class Steps:
    """Steps whose duration in seconds is a function of the number of steps before."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.number = count()
        self.elapsed = 0.0

    def run(self, steps):
        taken = sum(self.seconds(next(self.number)) for _ in range(steps))
        self.elapsed += taken
        return round(taken * 1e9)


@pytest.mark.parametrize("shortest", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("seconds", [1e-4, 1e-3, 0.02, 0.3])
def test_flat_steps_are_steady_after_the_shortest_time(seconds, shortest):
    steps = Steps(lambda _: seconds)
    warmup = warm_up(steps.run, shortest_seconds=shortest)
    assert warmup.reason == "steady"
    assert warmup.step_seconds == pytest.approx(seconds)
    assert shortest <= steps.elapsed < shortest + 1.6
    assert warmup.steps == next(steps.number)


def test_the_first_step_is_a_figure_of_its_own():
    steps = Steps(lambda number: 30.0 if number == 0 else 0.01)
    warmup = warm_up(steps.run)
    assert warmup.first_step_nanoseconds == 30_000_000_000
    assert warmup.reason == "steady"
    assert warmup.step_seconds == pytest.approx(0.01)
    assert sum(elapsed for _, elapsed in warmup.blocks) >= 1e9


def test_steps_that_still_compile_do_not_count():
    steps = Steps(lambda number: [20.0, 8.0, 5.0, 0.5][number] if number < 4 else 0.01)
    warmup = warm_up(steps.run)
    assert warmup.reason == "steady"
    assert warmup.step_seconds == pytest.approx(0.01)


@pytest.mark.parametrize("half_life", [1, 5, 20])
def test_a_decay_is_waited_for(half_life):
    steps = Steps(lambda number: 0.05 * (1 + 2 * 0.5 ** (number / half_life)))
    warmup = warm_up(steps.run)
    assert warmup.reason == "steady"
    assert warmup.step_seconds == pytest.approx(0.05, rel=0.04)


@pytest.mark.parametrize("seed", range(20))
def test_noise_does_not_keep_it_going(seed):
    chance = random.Random(seed)
    steps = Steps(lambda _: 0.05 * chance.lognormvariate(0, 0.1))
    warmup = warm_up(steps.run)
    assert warmup.reason == "steady"
    assert steps.elapsed < 20
    assert warmup.step_seconds == pytest.approx(0.05, rel=0.1)


def test_a_slow_decay_in_noise_is_waited_for():
    """The excess halves every second; a short look cannot always tell it from noise."""
    found = 0
    for seed in range(20):
        chance = random.Random(seed)

        def seconds(number, chance=chance):
            return 0.05 * (1 + 0.4 * 0.5 ** (number / 20)) * chance.lognormvariate(0, 0.02)

        found += warm_up(Steps(seconds).run).step_seconds < 0.05 * 1.02
    assert found >= 14


@pytest.mark.parametrize("seed", range(20))
def test_two_levels_do_not_keep_it_going_for_long(seed):
    """A neighbour on the host comes and goes: step times switch between two levels."""
    chance = random.Random(seed)
    level = [1.0]

    def seconds(_):
        if chance.random() < 0.05:
            level[0] = 2.2 - level[0]
        return 0.05 * level[0] * chance.lognormvariate(0, 0.02)

    steps = Steps(seconds)
    assert warm_up(steps.run).reason == "steady"
    assert steps.elapsed < 20


@pytest.mark.parametrize("change", [0.9999, 1.001])
def test_a_very_slow_drift_does_not_keep_it_going(change):
    steps = Steps(lambda number: 0.05 * change**number)
    assert warm_up(steps.run).reason == "steady"
    assert steps.elapsed < 5


@pytest.mark.parametrize("factor", [1.2, 3.0])
def test_a_step_upwards_is_no_reason_to_go_on(factor):
    """The machine got slower: more warming up would not help."""
    steps = Steps(lambda number: 0.05 * (factor if number > 12 else 1))
    warmup = warm_up(steps.run)
    assert warmup.reason == "steady"
    assert steps.elapsed < 5


def test_steps_that_never_get_steady_end_at_the_limit():
    steps = Steps(lambda number: 1 / (1 + number / 20))
    warmup = warm_up(steps.run)
    assert warmup.reason == "not steady after 60 s"
    assert 60 <= steps.elapsed < 63
    assert warmup.step_seconds > 0


def test_a_first_look_waits_less():
    steps = Steps(lambda number: 1 / (1 + number / 20))
    assert warm_up(steps.run, longest_seconds=10).reason == "not steady after 10 s"
    assert steps.elapsed < 13


def test_steps_too_long_to_tell_end_at_the_limit():
    steps = Steps(lambda _: 45.0)
    warmup = warm_up(steps.run)
    assert warmup.reason == "not steady after 60 s"
    assert warmup.blocks == [(1, 45_000_000_000)] * 2
    assert warmup.step_seconds == 45.0


def test_blocks_are_long_enough_to_time():
    blocks = warm_up(Steps(lambda _: 1e-5).run).blocks
    assert blocks[0] == (1, 10_000)
    assert [count for count, _ in blocks[:5]] == [1, 10, 100, 1000, 10_000]
    assert all(elapsed == pytest.approx(1e8, rel=0.01) for _, elapsed in blocks[4:])


def test_one_block_that_seemed_short_does_not_make_the_next_one_endless():
    """Steps take 0.1 s, but the second one reports a microsecond."""
    steps, longest = Steps(lambda at: 1e-6 if at == 1 else 0.1), 0.0

    def run(count):
        nonlocal longest
        elapsed = steps.run(count)
        longest = max(longest, elapsed)
        return elapsed

    warm_up(run)
    assert longest < 2e9


@pytest.mark.parametrize(
    ("seconds", "steady"),
    [
        ([], False),
        ([1, 1, 1], False),
        ([1, 1, 1, 1], True),
        ([0.1, 0.1, 0.1, 0.1], False),
        ([2, 2, 1, 1], False),
        ([1, 1, 2, 2], True),
        ([1, 1, 0.98, 0.98], True),
        ([1, 1, 0.96, 0.96], False),
        ([9, 9, 9, 1, 1, 1, 1, 1, 1], True),
        ([1, 1, 9, 1, 1, 9, 1, 1, 1], True),
    ],
)
def test_steady(seconds, steady):
    blocks = [(1, round(value * 1e9)) for value in seconds]
    assert is_steady(blocks, shortest_seconds=1.0) is steady
