"""A worker's answers, and the typed outcome of what its framework raises."""

from __future__ import annotations

import dataclasses
import platform
import weakref

import mbench_tiny
import numpy as np
import pytest
from cases import make_case
from mbench_tiny import TINY

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo, Traced, Unsupported
from mbench.contract.rank import SINGLE, RankInfo
from mbench.contract.reading import Malformed
from mbench.worker.session import Session, failure, reply_to

CASE = make_case(seed=5)
START = wire.Start(runtime="mbench_tiny_flaky:FlakyRuntime", device="cpu", threads=3)


@pytest.fixture
def session():
    session = Session()
    session.answer(START)
    return session


def test_start_imports_the_framework_and_says_what_it_is():
    info = Session().answer(START)
    assert info == FrameworkInfo(
        version=np.__version__, devices=["cpu"], device_name=platform.machine(), threads=3
    )


@pytest.mark.parametrize(
    ("place", "given"),
    [(SINGLE, {}), (RankInfo(rank=1, ranks=2), {"place": RankInfo(rank=1, ranks=2)})],
    ids=["alone", "of two"],
)
def test_a_runtime_is_told_its_place_where_there_are_several(monkeypatch, place, given):
    told = {}

    class Runtime(mbench_tiny.Runtime):
        def __init__(self, *, device, threads, place=None):
            super().__init__(device=device, threads=threads)
            told.update({"place": place} if place else {})

    monkeypatch.setattr(mbench_tiny, "Runtime", Runtime)
    session = Session()
    session.answer(dataclasses.replace(START, runtime="mbench_tiny:Runtime", place=place))
    assert told == given


def test_a_runtime_that_takes_no_place_serves_one_process(monkeypatch):
    class Runtime:
        def __init__(self, *, device, threads):
            raise AssertionError("it is not made")

    monkeypatch.setattr(mbench_tiny, "Runtime", Runtime)
    with pytest.raises(Unsupported, match="does not support several processes"):
        Session().answer(
            dataclasses.replace(
                START, runtime="mbench_tiny:Runtime", place=RankInfo(rank=1, ranks=2)
            )
        )


def test_steps_that_lead_are_made_and_not_timed(session):
    session.answer(wire.Prepare(case=CASE))
    elapsed = session.answer(wire.TimeSteps(count=2, each=True, lead=3))
    assert len(elapsed.nanoseconds) == 2
    assert session.answer(wire.Look()).step == 5


def test_prepare_loads_the_canonical_parameters(session):
    prepared = session.answer(wire.Prepare(case=CASE))
    assert prepared.seconds > 0
    assert prepared.trainable_parameters == 64 * 257
    assert prepared.differences == ["gradients are written by hand"]
    loaded = dict(session.cycler.prepared.benchmark.parameters())
    for name, array in TINY.parameters(seed=5):
        assert np.array_equal(loaded[name], array)


def test_what_is_observed_next_is_not_loaded_twice(session):
    session.answer(wire.Prepare(case=CASE, load=False))
    assert not any(array.any() for _, array in session.cycler.prepared.benchmark.parameters())


def test_run_times_the_prepared_case(session):
    session.answer(wire.Prepare(case=CASE))
    assert len(session.answer(wire.TimeSteps(count=3)).nanoseconds) == 1
    assert len(session.answer(wire.TimeSteps(count=3, each=True)).nanoseconds) == 3


def test_the_loss_is_the_last_steps(session):
    session.answer(wire.Prepare(case=CASE))
    session.answer(wire.TimeSteps(count=1))
    first = session.answer(wire.Look()).loss
    seen = session.answer(wire.Observe(seed=CASE.seed, steps=1))
    assert first == pytest.approx(seen.steps[0].loss)


def test_memory_evidence_and_goodbye(session):
    session.answer(wire.Prepare(case=CASE))
    assert session.answer(wire.Memory()).peak_bytes > 2**20
    seen = session.answer(wire.Observe(seed=0, steps=2))
    assert len(seen.steps) == 2
    assert session.answer(wire.Close()) == wire.Closed()


def test_shapes_are_told_without_a_prepared_case(session):
    found = session.answer(wire.FindShapes(case=CASE))
    assert found == wire.ShapesFound(shapes={"weight": [64, 256], "bias": [64]})
    assert session.cycler is None


def test_the_case_before_makes_room_for_the_next(session):
    session.answer(wire.Prepare(case=CASE))
    broken = dataclasses.replace(CASE, sizes={"image_size": 32})
    with pytest.raises(ValueError, match="no size image_size"):
        session.answer(wire.Prepare(case=broken))
    assert session.cycler is None


def test_the_case_before_is_gone_even_where_its_model_refers_to_itself(session, monkeypatch):
    session.answer(wire.Prepare(case=CASE))
    session.answer(wire.TimeSteps(count=1))
    benchmark = session.cycler.prepared.benchmark
    benchmark.itself = benchmark
    before = weakref.ref(benchmark)
    del benchmark
    honest = session.runtime.prepare

    def prepare(work):
        assert before() is None
        return honest(work)

    monkeypatch.setattr(session.runtime, "prepare", prepare)
    session.answer(wire.Prepare(case=CASE))


@pytest.mark.parametrize("message", [wire.TimeSteps(count=1), wire.Look(), wire.Memory()])
def test_nothing_runs_before_it_is_prepared(session, message):
    with pytest.raises(AssertionError, match="prepare comes first"):
        session.answer(message)


def test_a_message_that_is_no_question_is_refused(session):
    session.answer(wire.Prepare(case=CASE))
    with pytest.raises(Malformed, match="does not accept Closed"):
        session.answer(wire.Closed())


def test_a_device_that_the_framework_lacks_passes_through():
    with pytest.raises(Unsupported, match="CPU only"):
        Session().answer(dataclasses.replace(START, device="cuda"))


def test_no_memory_is_told_where_none_is_left_to_tell_it_in(monkeypatch):
    def exhausted():
        raise MemoryError

    monkeypatch.setattr("traceback.print_exc", exhausted)
    told = wire.decode(reply_to(MemoryError(), None))
    assert told == wire.Failure(outcome="oom", reason="MemoryError")


def test_a_step_is_made_under_the_frameworks_profiler(session, monkeypatch, tmp_path):
    session.answer(wire.Prepare(case=CASE))
    told = Traced(calls=[], other_events=1, unread=0)
    seen = []

    def profile(step, folder):
        step()
        seen.append((session.cycler.steps, folder))
        return told

    monkeypatch.setattr(session.runtime, "profile", profile)
    assert session.answer(wire.Profile(folder=str(tmp_path))) is told
    assert seen == [(1, str(tmp_path))]


def test_without_a_profiler_it_is_said(session, monkeypatch, tmp_path):
    session.answer(wire.Prepare(case=CASE))
    with pytest.raises(Unsupported, match="Flaky's adapter has no profiler"):
        session.answer(wire.Profile(folder=str(tmp_path)))
    monkeypatch.setattr(session, "runtime", object())
    with pytest.raises(Unsupported, match="its adapter has no profiler"):
        session.answer(wire.Profile(folder=str(tmp_path)))


class Exhausted(Exception):
    """What a framework raises for a lack of memory."""


class Knowing:
    def is_out_of_memory(self, error):
        return isinstance(error, Exhausted)


TRACE = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (Unsupported("no bf16\non this CPU"), "unsupported", "no bf16 on this CPU"),
        (MemoryError(), "oom", "MemoryError"),
        (Exhausted("no room"), "oom", "Exhausted: no room"),
        (RuntimeError("no room"), "failed", "RuntimeError: no room"),
        (RuntimeError("std::bad_alloc"), "oom", "RuntimeError: std::bad_alloc"),
        (OSError(12, "Cannot allocate memory"), "oom", "OSError: [Errno 12]"),
        (ValueError("a\n  b\tc"), "failed", "ValueError: a b c"),
        (
            RuntimeError(f"Caught it.\nOriginal {TRACE}ValueError: bad\n"),
            "failed",
            "ValueError: bad",
        ),
        (KeyError("memory"), "failed", "KeyError: 'memory'"),
        (RuntimeError("x" * 10_000), "failed", "RuntimeError: xxx"),
    ],
)
def test_outcomes_of_exceptions(error, outcome, reason):
    try:
        raise error
    except Exception as caught:
        made = failure(caught, Knowing())
    assert made.outcome == outcome
    assert made.reason.startswith(reason)
    assert "\n" not in made.reason
    assert len(made.reason) <= 500
    assert len(made.traceback) <= 8000
    assert type(error).__name__ in made.traceback or "x" * 100 in made.traceback
