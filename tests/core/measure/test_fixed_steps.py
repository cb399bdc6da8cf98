"""Published protocols, with workers that record what is done to them, in order."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest

from mbench.engine.outcome import CaseEnded
from mbench.measure.fixed_steps import warm_up
from mbench.results import events
from mbench.spec.experiment import Launch
from mbench.spec.fixed_steps import Counted
from mbench.spec.presets import PRESETS


def by_process(store):
    """((case, process), its blocks) in the order in which they were timed."""
    blocks = store.of(events.Block)
    return [(key, list(of)) for key, of in groupby(blocks, lambda b: (b.case, b.process))]


def test_dlperf_measures_one_case_after_the_other_in_fresh_processes(measure, world):
    store = measure(frameworks=("tiny", "flaky"), protocol=PRESETS["dlperf"])
    made = by_process(store)
    assert [key for key, _ in made] == [(case, number) for case in (0, 1) for number in range(7)]
    for _, blocks in made:
        assert [(b.steps, b.each, len(b.nanoseconds)) for b in blocks] == [(100, False, 1)]
    for process in store.of(events.Process):
        assert 1 + sum(count for count, _ in process.warmup_blocks) == 20
        assert process.warmup_reason == "20 steps, by the protocol"
    assert len(world.workers) == len(store.of(events.Memory)) == 14
    assert store.of(events.ComparisonEnd)[0].reason == "all processes measured"


@pytest.mark.parametrize("mode", ["train", "inference"])
def test_superbench_times_every_step_of_2048(measure, mode):
    store = measure(frameworks=("tiny",), mode=mode, protocol=PRESETS["superbench"])
    blocks = store.of(events.Block)
    assert sum(block.steps for block in blocks) == 2048
    assert all(b.each and len(b.nanoseconds) == b.steps for b in blocks)
    (process,) = store.of(events.Process)
    assert 1 + sum(count for count, _ in process.warmup_blocks) == 64


def test_a_duration_ends_what_the_steps_would_not(measure):
    protocol = replace(PRESETS["superbench"], duration_seconds=5.0)
    store = measure(frameworks=("tiny",), protocol=protocol)
    assert sum(block.steps for block in store.of(events.Block)) == 50
    short = measure(
        frameworks=("tiny",), protocol=replace(PRESETS["superbench"], duration_seconds=1e6)
    )
    assert sum(block.steps for block in short.of(events.Block)) == 2048


@pytest.mark.parametrize(
    ("mode", "each", "messages"), [("train", False, 1), ("inference", True, 50)]
)
def test_nvidia_times_two_epochs_after_one(measure, mode, each, messages):
    store = measure(frameworks=("tiny",), mode=mode, protocol=PRESETS["nvidia"])
    blocks = store.of(events.Block)
    for epoch in (0, 1):
        of = [block for block in blocks if block.round == epoch]
        assert sum(block.steps for block in of) == 500
        assert len(of) == messages
    assert {block.each for block in blocks} == {each}
    assert 1 + sum(n for n, _ in store.of(events.Process)[0].warmup_blocks) == 500


def test_a_case_that_falls_short_leaves_and_the_next_is_measured(measure, world):
    world.faults["tiny", 1, "run"] = CaseEnded("crashed", "gone")
    store = measure(frameworks=("tiny", "flaky"), protocol=replace(PRESETS["dlperf"], processes=3))
    assert store.outcomes == [(0, "crashed", "gone")]
    assert [key for key, _ in by_process(store)] == [(0, 0), (1, 0), (1, 1), (1, 2)]


def test_a_case_may_have_one_step_only(measure):
    store = measure(frameworks=("tiny",), protocol=Counted(name="one", steps=1))
    assert store.of(events.Process)[0].warmup_blocks == []
    assert [block.steps for block in store.of(events.Block)] == [1]


def test_steps_before_a_block_have_as_much_time_as_the_block(measure, world):
    """Up to the next look at changes, one request may have hundreds of untimed steps."""
    world.step_seconds = 10.0
    store = measure(frameworks=("tiny",), protocol=Counted(name="slow", steps=500, warmup_steps=10))
    assert store.outcomes == []
    long = [count for count in world.counts if count * world.step_seconds > 900]
    assert len(long) > 1
    for count, timeout in zip(world.counts, world.timeouts, strict=True):
        assert count * world.step_seconds < (timeout or Launch().timeout_seconds)


@pytest.mark.parametrize("steps", [1, 2, 20, 64])
def test_warm_up_is_counted_and_its_first_step_alone(steps):
    asked = []

    def run(count):
        asked.append(count)
        return count * 10**8

    warmup = warm_up(run, steps=steps)
    assert asked[0] == 1
    assert sum(asked) == warmup.steps == steps
    assert max(asked) <= 10, "about a second between messages"
    assert warmup.step_seconds == pytest.approx(0.1)
