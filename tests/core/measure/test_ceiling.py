"""Ceilings are measured with a worker whose work takes a known time."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import mbench_tiny
import numpy as np
import pytest
from fakes import NotedActivity, SilentWorker
from support.experiments import asked

from mbench.contract import wire
from mbench.contract.sketch import signs_of, sketch
from mbench.engine.outcome import CaseEnded
from mbench.measure import ceiling, measurement
from mbench.measure.ceiling import BLOCKS, Ceilings, amount, case_of
from mbench.results.encoding import decode, encode
from mbench.results.proof import ProofRecord
from mbench.scenarios.find import resolve
from mbench.spec.planning import plan

SIDES = {"matmul": (64, 128, 256, 512), "single": (64, 128, 256, 512), "add": (64, 128)}


class Worker(SilentWorker):
    """Does 1e8 FLOPs and 1e7 bytes a second. `faults` maps a model to the exception it raises.
    `lie` changes an answer. If `remembered`, steps on repeated inputs take a hundredth of the time.
    In the first `stalls` cases steps on new inputs are slow; in the first `late` cases a look waits
    0.1 s for each step before it, by the parent's `clock`. Looks also take `looks` seconds in turn.
    """

    clock = 0.0

    def __init__(
        self, faults=None, lie=lambda answer: answer, *, remembered=False, stalls=0, late=0,
        looks=(0.0,),
    ):  # fmt: skip
        super().__init__()
        self.looks = itertools.cycle(looks)
        self.late, self.due = late, 0
        self.faults = faults or {}
        self.lie = lie
        self.remembered, self.stalls = remembered, stalls
        self.made = []

    def prepare(self, case, *, load=True, work=None):
        if end := self.faults.get(case.model):
            raise end
        self.made.append(case.model)
        self.workload = resolve(case)
        work = amount(case)
        rate = 1e8 if "matmul" in case.model else 1e7
        self.seconds = work / rate / (1 + work * 1e-13)  # larger ones are slightly faster
        self.steps = 0
        self.slow = len(self.made) <= self.stalls
        return wire.Prepared(seconds=0.0, differences=[], trainable_parameters=0, batches=8)

    def ask(self, message, answer, *, timeout=None):
        if self.late >= len(self.made):
            Worker.clock += 0.1 * self.due
            self.due = 0
        if message == wire.Look():
            Worker.clock += next(self.looks)
            return wire.Seen(step=self.steps, batch=0, outputs={})
        assert message == wire.Look(along=True)
        found = {}
        for name, array in self.workload.answers(seed=0, batch=1).items():
            single = self.lie(array.astype(np.float32))
            found[name] = sketch(name, single @ signs_of(name, single.shape[-1]))
        return wire.Seen(step=9, batch=1, outputs=found)

    def run(self, count, *, each=False, lead=0, timeout=None):
        new = max(0, min(count, 8 - self.steps))
        self.steps += count
        self.due += count
        cost = new * (4 if self.slow else 1) + (count - new) * (0.01 if self.remembered else 1)
        return wire.Elapsed(start_nanoseconds=0, nanoseconds=[round(cost * self.seconds * 1e9)])


class Store:
    def __init__(self):
        self.events = []

    def append(self, event):
        decode(encode(event))
        self.events.append(event)

    def log_path(self, name):
        return Path(name)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(ceiling, "perf_counter", lambda: Worker.clock)
    monkeypatch.setattr(ceiling, "SIDES", SIDES)
    monkeypatch.setattr(ceiling, "ON_CPU", {**SIDES, "add": (64,)})


@pytest.fixture
def entries(plugins):
    """The entries of a comparison: tiny twice, then flaky."""
    sweep = asked(frameworks=("tiny", "tiny", "flaky"), wanted={"model": ("tiny-model",)})
    (comparison,) = plan(sweep, plugins)
    return comparison.entries


def find(entry, worker, ceilings=None):
    found = ceilings or Ceilings(Store(), NotedActivity())
    found.measure(entry, worker)
    return found.store.events


def test_sizes_grow_until_the_next_product_would_take_long(entries):
    """A product of side 256 takes 0.3 s; one of side 512 would take eight times as long."""
    worker = Worker()
    events = find(entries[0], worker)
    assert worker.made == [
        "op:matmul/64x64x64", "op:matmul/128x128x128", "op:matmul/256x256x256", "op:add/64x64",
    ]  # fmt: skip
    for event in events:
        assert len(event.nanoseconds) == BLOCKS
        seconds = min(event.nanoseconds) / 1e9
        rate = event.amount * event.steps / seconds
        assert rate == pytest.approx(1e8 if event.operator == "matmul" else 1e7, rel=1e-3)
        assert event.steps == max(1, round(ceiling.BLOCK_SECONDS * event.steps / seconds))
        assert 0 < event.error < 1e-6


def test_a_gpu_is_also_asked_for_what_it_goes_on_with(entries, monkeypatch):
    monkeypatch.setenv(mbench_tiny.GPU, "/none")
    entry = replace(entries[0], case=replace(entries[0].case, device="cuda"))
    events = find(entry, Worker())
    assert [(event.operator, event.size) for event in events] == [
        ("matmul", 64), ("matmul", 128), ("matmul", 256), ("sustained", 256),
        ("add", 64), ("add", 128),
    ]  # fmt: skip
    (sustained,) = [event for event in events if event.operator == "sustained"]
    seconds = sum(sustained.nanoseconds) / 1e9
    assert sustained.steps * BLOCKS * sustained.amount / seconds == pytest.approx(1e8, rel=1e-3)
    assert seconds > BLOCKS * 0.2


def test_half_precision_is_also_asked_for_what_it_could_do_in_single(entries, monkeypatch):
    """A processor that has no units for bfloat16 multiplies float32 many times as fast."""
    monkeypatch.setattr(ceiling, "supports", lambda *_: SimpleNamespace(supported=True))
    entry = replace(entries[0], case=replace(entries[0].case, precision="bf16"))
    asked = []

    class Noting(Worker):
        def prepare(self, case, *, load=True, work=None):
            asked.append((case.model.partition("/")[0], case.precision))
            return super().prepare(case, load=load)

    events = find(entry, Noting())
    assert [event.operator for event in events] == ["matmul"] * 3 + ["single"] * 3 + ["add"]
    assert asked == [("op:matmul", "bf16")] * 3 + [("op:matmul", "fp32")] * 3 + [("op:add", "bf16")]


def test_what_cannot_be_done_is_written_down_and_the_rest_goes_on(entries):
    worker = Worker({"op:matmul/128x128x128": CaseEnded("oom", "too large"),
                     "op:add/64x64": CaseEnded("unsupported", "none")})  # fmt: skip
    events = find(entries[0], worker)
    assert [event.reason for event in events] == ["", "oom: too large", "unsupported: none"]


def one_row(answer):
    answer[3] *= 1.01
    return answer


def one_number(answer):
    answer[3, 5] += 0.1
    return answer


@pytest.mark.parametrize("lie", [np.zeros_like, np.transpose, one_row, one_number])
def test_another_answer_at_the_size_that_is_timed_is_no_ceiling(entries, lie):
    for event in find(entries[0], Worker(lie=lie)):
        assert event.reason.startswith("not-equal: timed: output output.0 off by "), event
        assert event.nanoseconds == []


def test_what_is_remembered_is_no_ceiling(entries):
    """The answers are right: only the time that steps on new inputs take shows it."""
    products = [e for e in find(entries[0], Worker(remembered=True)) if e.operator == "matmul"]
    assert len(products) == 1
    assert "steps on repeated inputs were 100 times as fast" in products[0].reason
    assert products[0].nanoseconds == []


def test_a_stall_is_not_taken_for_memory(entries):
    worker = Worker(stalls=1)
    assert [event.reason for event in find(entries[0], worker)] == [""] * 4
    assert worker.made[:3] == ["op:matmul/64x64x64"] * 2 + ["op:matmul/128x128x128"]


def test_work_that_goes_on_after_a_step_is_no_ceiling(entries):
    """Such steps seem short: a block of as many as seem to fit would take hours."""
    worker = Worker(late=2)
    products = [e for e in find(entries[0], worker) if e.operator == "matmul"]
    assert worker.made[:2] == ["op:matmul/64x64x64"] * 2
    assert [event.nanoseconds for event in products] == [[]]
    assert products[0].reason.startswith("not-equal: timed: 0.1 s of work continued after")


def test_a_look_that_takes_longer_than_another_is_no_work_that_went_on(entries):
    """The looks: one after the first step, three at an idle worker, one after a step."""
    worker = Worker(looks=(0.2, 0.1, 0.3, 0.1, 0.3))
    assert [event.reason for event in find(entries[0], worker)] == [""] * 4
    assert worker.made.count("op:matmul/64x64x64") == 1


def test_what_is_not_proven_small_is_not_timed(entries):
    """Each operator is proven once, however many entries share it."""
    asked = []

    class Verifier:
        def verify(self, requests):
            asked.append([(one.case.model, one.case.mode) for one in requests])
            for one in requests:
                failed = ["outputs: none"] if "matmul" in one.case.model else []
                yield one, ProofRecord(
                    proven=not failed, worst=None, failures=failed, findings=[], notes=[],
                    version="1", grade="proven",
                )  # fmt: skip

    ceilings = Ceilings(Store(), NotedActivity())
    for _ in range(2):
        ceilings.prove([(entry, None) for entry in entries[:2]], Verifier())
    assert asked == [[("op:matmul/64x64x64", "inference"), ("op:add/64x64", "inference")], []]
    worker = Worker()
    events = find(entries[0], worker, ceilings)
    assert [event.reason for event in events] == ["not-equal: outputs: none", ""]
    assert worker.made == ["op:add/64x64"]


def test_an_adapter_without_operators_has_no_ceiling(entries, monkeypatch):
    monkeypatch.setattr(mbench_tiny.Tiny, "model_file", lambda self, workload: "mbench_tiny_none")
    for event in find(entries[0], Worker()):
        assert event.reason == ("unsupported: not provided: Tiny's adapter has no operators model")


class Beyond:
    """A measurement whose case is beyond the peak the first `times` times that it is asked."""

    def __init__(self, entry, times):
        self.entries, self.times, self.listener = [entry], times, NotedActivity()
        self.ceilings = Ceilings(Store(), self.listener)

    def is_beyond_peak(self, entry):
        self.times -= 1
        return self.times >= 0


@pytest.mark.parametrize(("times", "measured"), [(0, 1), (2, 3), (99, 1 + measurement.PEAKS)])
def test_products_are_timed_again_while_a_case_is_faster(entries, times, measured):
    """The machine may have been busy at first. Repeats are limited: the case may lie."""
    worker, asking = Worker(), Beyond(entries[0], times)
    runner = SimpleNamespace(entry=entries[0], worker=worker)
    measurement.Measurement.find_ceiling(asking, runner)
    assert worker.made.count("op:matmul/256x256x256") == measured
    assert worker.made.count("op:add/64x64") == 1
    asking.times = 2  # in the next process: asked whether to begin, and once more
    measurement.Measurement.find_ceiling(asking, runner)
    assert worker.made.count("op:matmul/256x256x256") == measured + 1


def test_each_ceiling_is_found_once(entries):
    ceilings = Ceilings(Store(), NotedActivity())
    assert not ceilings.has(entries[0])
    ceilings.measure(entries[0], Worker())
    assert [ceilings.has(entry) for entry in entries] == [True, True, False]


@pytest.mark.parametrize(
    ("precision", "pure", "bytes_each"), [("fp32", "fp32", 4), ("fp64", "fp64", 8)]
)
def test_amounts_are_flops_and_bytes(entries, precision, pure, bytes_each):
    entry = replace(entries[0], case=replace(entries[0].case, precision=precision))
    product, total = (case_of(entry, name, 10) for name in ("matmul", "add"))
    assert product.precision == pure
    assert amount(product) == 2000
    assert amount(total) == 3 * 100 * bytes_each


def test_mixed_precision_has_the_ceiling_of_its_products(entries, monkeypatch):
    monkeypatch.setattr(mbench_tiny.Tiny, "lacks", ())
    entry = replace(entries[0], case=replace(entries[0].case, precision="amp-bf16"))
    assert case_of(entry, "matmul", 10).precision == "bf16"
    assert amount(case_of(entry, "add", 10)) == 3 * 100 * 2
