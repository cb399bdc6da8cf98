"""Interleaving, with workers that write down what is done to them and in which order."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.engine.outcome import CaseEnded
from mbench.harness import rounds
from mbench.harness.plan import Axes, plan
from mbench.harness.protocol import Protocol
from mbench.harness.rounds import Measurement
from mbench.telemetry.sample import Sample
from mbench.telemetry.sampler import Watch

INFO = FrameworkInfo(version="1", devices=["cpu"], device_name="CPU", threads=1)


class World:
    """A machine with its own time, on which fake workers run one at a time."""

    def __init__(self):
        self.now = 1000.0
        self.workers = []
        self.faults = {}
        """(label, set, name of the request) -> how it ends."""
        self.start_seconds = 0.0
        self.step_seconds = 0.1

    def launch(self, adapter, environment, case, *, log, timeout):
        label = environment
        number = sum(worker.label == label for worker in self.workers)
        self.now += self.start_seconds
        self.fault(label, number, "launch")
        worker = Worker(self, label, number)
        self.workers.append(worker)
        return worker, INFO

    def fault(self, label, number, request):
        if (label, number, request) in self.faults:
            raise self.faults[label, number, request]


class Worker:
    def __init__(self, world, label, number):
        self.world, self.label, self.number = world, label, number
        self.stopped = self.closed = False
        self.runs = self.asked = 0
        self.process = SimpleNamespace(pid=4711 + len(world.workers))

    def prepare(self, case):
        self.world.fault(self.label, self.number, "prepare")
        return wire.Prepared(seconds=0.5, differences=["none"], trainable_parameters=7)

    def run(self, count, *, each=False):
        self.check_alone()
        self.world.fault(self.label, self.number, "run" if not each else "each")
        self.runs += 1
        self.world.now += count * self.world.step_seconds
        step = round(self.world.step_seconds * 1e9)
        return wire.Elapsed(
            start_nanoseconds=round(self.world.now * 1e9),
            nanoseconds=[step] * count if each else [step * count],
        )

    def ask(self, message, answer):
        if isinstance(message, wire.Loss):
            self.check_alone()
            self.world.fault(self.label, self.number, "loss")
            self.asked += 1
            return wire.LossValue(loss=self.runs + self.asked / 10)
        assert isinstance(message, wire.Memory)
        self.world.fault(self.label, self.number, "memory")
        return wire.MemoryUsed(peak_bytes=123)

    def check_alone(self):
        assert not self.stopped
        assert not self.closed
        for other in self.world.workers:
            assert other is self or other.stopped or other.closed, f"{other.label} is running too"

    def stop(self):
        self.stopped = True

    def resume(self):
        self.stopped = False

    def close(self):
        self.closed = True

    kill = close


class Store:
    """Keeps events and outcomes."""

    def __init__(self):
        self.events = []
        self.outcomes = []

    def append(self, event, **fields):
        self.events.append({"event": event, **fields})

    def outcome(self, case, end):
        self.outcomes.append((case, end.outcome, end.reason))

    def log_path(self, name):
        return Path("logs", name)

    def of(self, event):
        return [fields for fields in self.events if fields["event"] == event]

    def order(self):
        """(set, round) -> cases in the order in which their blocks were timed."""
        order = {}
        for block in self.of("block"):
            order.setdefault((block["process"], block["round"]), []).append(block["case"])
        return order


class Sampler:
    """Notes which worker was watched, and that it was running."""

    def __init__(self, world):
        self.world = world

    @contextmanager
    def watching(self, pid):
        (worker,) = [w for w in self.world.workers if w.process.pid == pid]
        worker.check_alone()
        watch = Watch(cores=2, samples=[sample(self.world.now)])
        yield watch
        watch.samples.append(sample(self.world.now))


def sample(now):
    return Sample(
        at_nanoseconds=round(now * 1e9), busy_seconds=now, stolen_seconds=0.0, worker_seconds=now,
        available_bytes=2**30,
    )  # fmt: skip


class Progress:
    def __init__(self):
        self.said = []

    def __getattr__(self, name):
        return lambda *arguments: self.said.append((name, *arguments))


@pytest.fixture
def world(monkeypatch):
    world = World()
    monkeypatch.setattr(rounds, "launch", world.launch)
    monkeypatch.setattr(rounds, "time", SimpleNamespace(monotonic=lambda: world.now))
    return world


@pytest.fixture
def measure(world, plugins):
    """Measures tiny and flaky (and a third) in the fake world; gives the store."""

    def measure(*, frameworks=("tiny", "flaky", "flaky==1"), mode="train", without=(), **constants):
        axes = Axes(frameworks=frameworks, models=("tiny-model",), modes=(mode,))
        (comparison,) = plan(axes, plugins)
        store = Store()
        store.progress = Progress()
        protocol = Protocol(**{"budget_seconds": 1e9, **constants})
        environments = {e.label: e.label for e in comparison.entries if e.label not in without}
        Measurement(
            comparison, environments, protocol=protocol, store=store, progress=store.progress,
            sampler=Sampler(world),
        ).run()  # fmt: skip
        assert all(worker.closed for worker in world.workers)
        return store

    return measure


def test_every_round_of_every_set_has_every_case_once(measure):
    store = measure(processes=3, rounds=4)
    order = store.order()
    assert set(order) == {(number, at) for number in range(3) for at in range(4)}
    assert all(sorted(cases) == [0, 1, 2] for cases in order.values())
    (end,) = store.of("comparison_end")
    assert end["reason"] == "all processes measured"


def test_every_set_has_fresh_workers(measure, world):
    store = measure(processes=3, rounds=1)
    assert len(world.workers) == 9
    assert len(store.of("process")) == 9
    assert len(store.of("framework")) == 3


def test_the_order_is_shuffled_anew_each_round_and_by_the_seed(measure):
    orders = [list(measure(processes=4, rounds=6, seed=seed).order().values()) for seed in (0, 1)]
    again = list(measure(processes=4, rounds=6, seed=0).order().values())
    assert orders[0] == again
    assert orders[0] != orders[1]
    for made in orders:
        assert len({tuple(cases) for cases in made}) == 6  # all there are of three
        assert {cases[0] for cases in made} == {0, 1, 2}


def test_the_order_of_starting_is_shuffled_too(measure, world):
    measure(processes=12, rounds=1)
    starts = [worker.label for worker in world.workers]
    sets = [tuple(starts[at : at + 3]) for at in range(0, len(starts), 3)]
    assert len(set(sets)) > 1


def test_blocks_are_as_long_as_the_protocol_says(measure, world):
    world.step_seconds = 0.05
    store = measure(processes=1, rounds=2, block_seconds=2.0)
    for block in store.of("block"):
        assert block["steps"] == 40
        assert block["nanoseconds"] == [2_000_000_000]
        assert block["each"] is False


def test_a_block_is_at_least_one_step(measure, world):
    world.step_seconds = 30.0
    store = measure(processes=1, rounds=1)
    assert {block["steps"] for block in store.of("block")} == {1}


def test_inference_is_also_timed_step_by_step(measure):
    store = measure(processes=1, rounds=2, mode="inference", frameworks=("tiny", "flaky"))
    blocks = store.of("block")
    assert [block["each"] for block in blocks] == [False, True] * 4
    assert all(len(b["nanoseconds"]) == (b["steps"] if b["each"] else 1) for b in blocks)


def test_the_machine_is_watched_during_every_block(measure):
    store = measure(processes=2, rounds=2, mode="inference", frameworks=("tiny", "flaky"))
    blocks, watched = store.of("block"), store.of("telemetry")
    names = ("case", "process", "round", "each")
    assert [[w[n] for n in names] for w in watched] == [[b[n] for n in names] for b in blocks]
    for block, seen in zip(blocks, watched, strict=True):
        before, after = (s["at_nanoseconds"] for s in seen["samples"])
        assert after - before == pytest.approx(sum(block["nanoseconds"]), rel=1e-6)


def test_warm_up_and_memory_are_written_down(measure):
    store = measure(processes=1, rounds=1)
    for process in store.of("process"):
        assert process["prepare_seconds"] == 0.5
        assert process["warmup_reason"] == "steady"
        assert process["first_step_nanoseconds"] == 100_000_000
        assert sum(steps for steps, _ in process["warmup_blocks"]) >= 10
    assert {used["peak_bytes"] for used in store.of("memory")} == {123}


@pytest.mark.parametrize(("mode", "loss"), [("train", 1.1), ("inference", None)])
def test_the_loss_of_the_very_first_step_is_written_down(measure, mode, loss):
    store = measure(processes=2, rounds=2, mode=mode)
    assert {process["first_loss"] for process in store.of("process")} == {loss}


@pytest.mark.parametrize("request_", ["launch", "prepare", "run", "loss"])
def test_a_case_that_falls_short_leaves_and_the_others_go_on(measure, world, request_):
    world.faults["flaky", 1, request_] = CaseEnded("crashed", "gone")
    store = measure(processes=3, rounds=2)
    assert store.outcomes == [(1, "crashed", "gone")]
    order = store.order()
    assert all(sorted(order[0, at]) == [0, 1, 2] for at in range(2))
    assert all(sorted(order[number, at]) == [0, 2] for number in (1, 2) for at in range(2))
    assert ("ended", "flaky") in [said[:2] for said in store.progress.said]


def test_a_case_that_falls_short_between_rounds_leaves_at_once(measure, world, monkeypatch):
    store = measure_with_fault_in_round(measure, world, monkeypatch, label="tiny", at_round=1)
    order = store.order()
    assert sorted(order[0, 0]) == [0, 1, 2]
    assert [sorted(order[0, at]) for at in (1, 2)] == [[1, 2], [1, 2]]
    assert [number for number, _ in order if number] == [1, 1, 1]
    assert store.outcomes == [(0, "oom", "too much")]
    assert len(store.of("memory")) == 2 + 2


def measure_with_fault_in_round(measure, world, monkeypatch, *, label, at_round):
    block = Measurement.block

    def faulty(self, runner, number, round_number):
        if runner.entry.label == label and round_number == at_round:
            raise CaseEnded("oom", "too much")
        return block(self, runner, number, round_number)

    monkeypatch.setattr(Measurement, "block", faulty)
    return measure(processes=2, rounds=3)


def test_nothing_is_left_to_measure(measure, world):
    for label in ("tiny", "flaky"):
        world.faults[label, 0, "prepare"] = CaseEnded("failed", "no")
    store = measure(frameworks=("tiny", "flaky"), processes=3)
    assert len(store.outcomes) == 2
    assert store.of("block") == []
    assert store.of("comparison_end")[0]["reason"] == "no case left to measure"


def test_entries_without_an_environment_take_no_part(measure):
    store = measure(without=("flaky",), processes=1, rounds=1)
    assert {block["case"] for block in store.of("block")} == {0, 2}
    assert store.outcomes == []


def test_no_set_begins_that_would_overrun_the_budget(measure, world):
    world.start_seconds = 10.0
    store = measure(processes=9, rounds=1, budget_seconds=100.0)
    per_set = (world.now - 1000.0) / len({p["process"] for p in store.of("process")})
    assert world.now - 1000.0 <= 100.0 < world.now - 1000.0 + per_set
    assert store.of("comparison_end")[0]["reason"] == "budget of 100 s spent"


def test_one_set_is_measured_whatever_the_budget(measure):
    store = measure(processes=5, budget_seconds=0.1)
    assert set(store.order()) == {(0, at) for at in range(3)}
    assert store.of("comparison_end")[0]["reason"] == "budget of 0.1 s spent"


def test_an_interruption_closes_all_workers(measure, world):
    world.faults["flaky", 0, "run"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        measure(processes=2)
    assert world.workers
    assert all(worker.closed for worker in world.workers)
