"""The ceiling, by a worker whose work takes a known time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes import NotedProgress, SilentWorker

from mbench.contract import wire
from mbench.engine.outcome import CaseEnded
from mbench.harness import ceiling
from mbench.harness.ceiling import BLOCKS, Ceilings, amount
from mbench.plan.plan import Sweep, plan
from mbench.results.encoding import decode, encode


class Worker(SilentWorker):
    """Does 1e11 FLOPs and 1e10 bytes a second; `faults` by probe and size."""

    def __init__(self, faults=None):
        super().__init__()
        self.faults = faults or {}
        self.probes = []

    def ask(self, message, answer, *, timeout=None):
        if end := self.faults.get((message.kind, message.size)):
            raise end
        self.probes.append((message.kind, message.size))
        rate = 1e11 if message.kind == "matmul" else 1e10
        self.seconds = amount(message.kind, message.size, message.precision) / rate
        return wire.Probed()

    def run(self, count, *, each=False, lead=0, timeout=None):
        return wire.Elapsed(start_nanoseconds=0, nanoseconds=[round(count * self.seconds * 1e9)])


class Store:
    def __init__(self):
        self.events = []

    def append(self, event):
        decode(encode(event))
        self.events.append(event)


@pytest.fixture
def entries(plugins):
    """Of tiny twice, then of flaky."""
    sweep = Sweep(frameworks=("tiny", "tiny", "flaky"), wanted={"model": ("tiny-model",)})
    (comparison,) = plan(sweep, plugins)
    return comparison.entries


def find(entry, worker):
    store = Store()
    Ceilings(store, NotedProgress()).find(entry, worker)
    return store.events


def test_sizes_grow_until_a_product_takes_long(entries):
    worker = Worker()
    events = find(entries[0], worker)
    assert worker.probes == [("matmul", 1024), ("matmul", 2048), ("matmul", 4096),
                             ("accumulate", 2**26)]  # fmt: skip
    for event in events:
        assert len(event.nanoseconds) == BLOCKS
        seconds = min(event.nanoseconds) / 1e9
        rate = event.amount * event.steps / seconds
        assert rate == pytest.approx(1e11 if event.probe == "matmul" else 1e10)
        assert event.steps == max(1, round(ceiling.BLOCK_SECONDS * event.steps / seconds))


def test_a_gpu_is_also_asked_for_what_it_goes_on_with(entries):
    entry = replace(entries[0], case=replace(entries[0].case, device="cuda"))
    worker = Worker()
    events = find(entry, worker)
    assert [(event.probe, event.size) for event in events] == [
        ("matmul", 1024), ("matmul", 2048), ("matmul", 4096), ("sustained", 4096),
        ("accumulate", 2**26), ("accumulate", 2**28),
    ]  # fmt: skip
    (sustained,) = [event for event in events if event.probe == "sustained"]
    seconds = sum(sustained.nanoseconds) / 1e9
    assert sustained.steps * BLOCKS * sustained.amount / seconds == pytest.approx(1e11)
    assert seconds > BLOCKS * 0.2


def test_what_cannot_be_done_is_written_down_and_the_rest_goes_on(entries):
    worker = Worker({("matmul", 2048): CaseEnded("oom", "too large"),
                     ("accumulate", 2**26): CaseEnded("unsupported", "none")})  # fmt: skip
    events = find(entries[0], worker)
    assert [event.reason for event in events] == ["", "oom: too large", "unsupported: none"]


def test_each_ceiling_is_found_once(entries):
    ceilings = Ceilings(Store(), NotedProgress())
    assert not ceilings.knows(entries[0])
    ceilings.find(entries[0], Worker())
    assert [ceilings.knows(entry) for entry in entries] == [True, True, False]


def test_amounts_are_flops_and_bytes():
    assert amount("matmul", 10, "fp32") == 2000
    assert amount("accumulate", 10, "fp64") == 240
    assert amount("accumulate", 10, "amp-bf16") == 60
