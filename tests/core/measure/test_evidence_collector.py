"""Steps are counted, and their results are looked at outside of timed blocks."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import pytest
from cases import make_case

from mbench.contract import wire
from mbench.measure.evidence_collector import CHANGES_AT, MOST_STEPS, EvidenceCollector
from mbench.results import events
from mbench.spec.presets import PRESETS


def test_every_block_is_followed_by_what_its_last_step_left(measure):
    store = measure(processes=2, rounds=3, mode="inference", frameworks=("tiny", "flaky"))
    blocks, seen = store.of(events.Block), store.of(events.Evidence)
    assert [(b.case, b.process, b.round, b.each) for b in blocks] == [
        (s.case, s.process, s.round, s.each) for s in seen
    ]
    assert store.of(events.Changes) == [], "inference changes no parameter"


@pytest.mark.parametrize("step_seconds", [0.001, 0.02, 0.6, 5.0])
def test_changes_are_looked_at_after_just_so_many_steps_and_at_the_end(
    measure, world, step_seconds
):
    """Steps use the first batches in turn, and then data that nobody could foresee."""
    world.step_seconds = step_seconds
    store = measure(processes=1, rounds=12, frameworks=("tiny", "flaky"))
    looks = []
    for case in (0, 1):
        found = [change for change in store.of(events.Changes) if change.case == case]
        warm = tuple(one.step for one in found if not one.data)
        assert warm[:2] == CHANGES_AT[: len(warm)]
        later = [(one.data, one.step) for one in found if one.data]
        assert later[0][1] == CHANGES_AT[0]
        assert found[-1].step == [s.step for s in store.of(events.Evidence) if s.case == case][-1]
        looks.append(set(later[:-1]))
    assert looks[0] & looks[1]


def test_the_slowest_cases_are_looked_at_after_the_first_steps_and_at_the_end(measure, world):
    world.step_seconds = 5.0
    store = measure(processes=1, rounds=1, frameworks=("tiny", "flaky"))
    for case in (0, 1):
        first, last = (one.step for one in store.of(events.Changes) if one.case == case)
        assert first == CHANGES_AT[0]
        assert last < CHANGES_AT[-1]


def test_parameters_are_loaded_anew_after_many_steps(measure, world):
    world.step_seconds = 0.001
    store = measure(processes=1, rounds=12, frameworks=("tiny", "flaky"))
    assert world.loads > 2
    assert max(seen.step for seen in store.of(events.Evidence)) < 2 * MOST_STEPS


class Counting:
    """A worker that counts its steps since parameters were loaded."""

    processes = nodes = ()

    def __init__(self):
        self.steps = 0

    def run(self, count, *, timeout=None):
        assert count > 0
        self.steps += count
        return SimpleNamespace(nanoseconds=[1])

    def ask(self, message, _):
        if isinstance(message, wire.Load):
            self.steps = 0
        return None


def test_early_looks_that_a_short_warm_up_left_do_not_follow_where_batches_come_from_files():
    """The steps that fill a pipeline would go past the looks that are left."""
    worker, entry = (
        Counting(),
        SimpleNamespace(case=make_case(mode="train"), label="tiny", number=0),
    )
    evidence = EvidenceCollector(entry, 0, worker, None, batches=8)
    evidence.awaited = [CHANGES_AT[-1]]
    evidence.begin_files()
    for _ in range(5):
        worker.run(5)  # its pipeline is filled
        evidence.made(5)
    evidence.run(2)
    assert evidence.steps == worker.steps


def test_a_counted_protocol_is_looked_at_too(measure):
    store = measure(frameworks=("tiny", "flaky"), protocol=PRESETS["dlperf"])
    assert len(store.of(events.Evidence)) == len(store.of(events.Block))
    changes = store.of(events.Changes)
    assert {change.step for change in changes if not change.data} == set(CHANGES_AT)
    assert {*CHANGES_AT, 32, 64} <= {change.step for change in changes if change.data}


def test_an_idle_look_that_other_load_delays_does_not_count(measure, world, monkeypatch):
    """A delayed look would hide work that goes on after every block."""
    ticks = count(1)
    monkeypatch.setattr(
        "mbench.measure.evidence_collector.perf_counter_ns",
        lambda: round(world.now * 1e9) + next(ticks),
    )
    world.idle_looks = iter([0.3, 0.002, 0.004])
    store = measure(processes=1, rounds=1, mode="inference", frameworks=("tiny", "flaky"))
    memory, _ = store.of(events.Memory)
    assert memory.idle_look == pytest.approx(2e6, abs=10)


def test_a_worker_that_counts_otherwise_ends_its_case(measure, world):
    world.skips = "flaky"
    store = measure(processes=1, rounds=2, frameworks=("tiny", "flaky"))
    ((case, outcome, reason),) = store.outcomes
    assert (case, outcome) == (1, "failed")
    assert "where 4 were requested" in reason
