"""The timed loop, under a fake clock that only steps and synchronisations advance."""

from __future__ import annotations

import gc

import pytest

from mbench.worker import clock

STEP, SYNCHRONIZE = 7, 1000


class RunContext:
    """Steps that take 7 ns and synchronisations that take 1,000 ns on a clock of their own."""

    def __init__(self) -> None:
        self.now = 500
        self.seen: list[str] = []

    def look(self) -> int:
        self.seen.append("look")
        return self.now

    def collect(self) -> int:
        self.seen.append("collect")
        return 0

    def freeze(self) -> None:
        self.seen.append("freeze")

    def step(self) -> None:
        self.seen.append("step")
        self.now += STEP

    def synchronize(self) -> None:
        self.seen.append("synchronize")
        self.now += SYNCHRONIZE


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> RunContext:
    bench = RunContext()
    monkeypatch.setattr(clock, "perf_counter_ns", bench.look)
    monkeypatch.setattr(gc, "collect", bench.collect)
    monkeypatch.setattr(gc, "freeze", bench.freeze)
    return bench


@pytest.mark.parametrize("count", [1, 3])
def test_a_block_is_one_duration_between_two_synchronisations(bench, count):
    elapsed = clock.time_steps(bench.step, bench.synchronize, count=count)
    assert bench.seen == [
        "collect", "freeze", "synchronize", "look", *["step"] * count, "synchronize", "look",
    ]  # fmt: skip
    assert elapsed.start_nanoseconds == 500 + SYNCHRONIZE
    assert elapsed.nanoseconds == [count * STEP + SYNCHRONIZE]


@pytest.mark.parametrize("count", [1, 3])
def test_each_step_has_its_own_synchronisation(bench, count):
    elapsed = clock.time_steps(bench.step, bench.synchronize, count=count, each=True)
    assert bench.seen == [
        "collect", "freeze", "synchronize", "look",
        *["look", "step", "synchronize", "look"] * count,
    ]  # fmt: skip
    assert elapsed.start_nanoseconds == 500 + SYNCHRONIZE
    assert elapsed.nanoseconds == [STEP + SYNCHRONIZE] * count


def test_collecting_again_does_not_look_through_what_is_there():
    kept = [["framework"]]
    assert any(found is kept for found in gc.get_objects())
    clock.time_steps(lambda: None, lambda: None, count=1)
    assert not any(found is kept for found in gc.get_objects())
    gc.unfreeze()


def test_the_clock_is_the_machines_monotonic_one_in_nanoseconds():
    import time

    assert clock.perf_counter_ns is time.perf_counter_ns
    before = time.perf_counter_ns()
    elapsed = clock.time_steps(lambda: time.sleep(0.01), lambda: None, count=2)
    assert before <= elapsed.start_nanoseconds <= time.perf_counter_ns()
    assert elapsed.nanoseconds[0] >= 0.02e9


def test_what_a_step_raises_passes_through():
    def step():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        clock.time_steps(step, lambda: None, count=1)
