"""One worker's conversation with its parent: a message in, an answer out, until closed."""

from __future__ import annotations

import gc
import importlib
import inspect
import os
import resource
import traceback
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from mbench.contract import learning, wire
from mbench.contract.adapter import Unsupported
from mbench.contract.outcome import speaks_of_memory
from mbench.contract.reading import Malformed
from mbench.scenarios.find import prepared, resolve, work_of
from mbench.worker import evidence, perturbation, state
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.clock import time_steps
from mbench.worker.feeds import fed, fed_cycler, feed, is_fed
from mbench.worker.learning import Lessons
from mbench.worker.stops import count_stops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.contract.adapter import FrameworkInfo, Runtime, Traced
    from mbench.contract.worker_state import WorkerState

__all__ = ["limit_memory", "serve"]

WAITS = 100
TRACEBACK = "Traceback (most recent call last):"
"""What begins a stack trace within the message of an exception."""
OUT_OF_MEMORY = wire.encode(wire.Failure(outcome="oom", reason="MemoryError"))


class Session:
    """Holds the framework and the one prepared case between messages."""

    def __init__(self) -> None:
        self.runtime: Runtime | None = None
        self.cycler: BatchCycler | None = None
        self.rank = 0
        self.at_any_time: Mapping[type, Callable[..., object]] = {
            wire.Start: self.start,
            wire.AskState: self.state,
            wire.FindShapes: self.find_shapes,
            wire.Prepare: self.prepare,
            wire.Close: self.close,
            learning.PrepareLesson: self.prepare_lesson,
        }
        self.lessons: Lessons | None = None
        self.of_lessons: Mapping[type, Callable[..., object]] = {
            learning.Learn: Lessons.learn,
            learning.EvaluateModel: Lessons.evaluate,
            learning.SketchTensors: Lessons.sketch,
        }
        self.once_prepared: Mapping[type, Callable[..., object]] = {
            wire.Load: self.load,
            wire.TimeSteps: self.time_steps,
            wire.TimeWaits: self.time_waits,
            wire.SelectBatch: self.select_batch,
            wire.Keep: evidence.keep,
            wire.Renew: self.renew,
            wire.Feed: feed,
            wire.AskFed: fed,
            wire.Look: evidence.look,
            wire.Nudge: perturbation.nudge,
            wire.Observe: self.observe,
            wire.Profile: self.profile,
            wire.Memory: self.memory,
        }

    def answer(self, message: object) -> object:
        """Do what `message` asks and return the reply. The framework's exceptions pass through."""
        kind = type(message)
        if kind in self.at_any_time:
            return self.at_any_time[kind](message)
        if kind in self.of_lessons:
            assert self.lessons is not None, "prepare comes first"
            return self.of_lessons[kind](self.lessons, message)
        if kind not in self.once_prepared:
            raise Malformed(f"a worker does not accept {kind.__name__}")
        assert self.cycler is not None, "prepare comes first"
        return self.once_prepared[kind](self.cycler, message)

    def start(self, message: wire.Start) -> FrameworkInfo:
        module, _, name = message.runtime.partition(":")
        settings: dict[str, object] = {"device": message.device, "threads": message.threads}
        make = getattr(importlib.import_module(module), name)
        takes = inspect.signature(make).parameters
        self.rank = message.place.rank
        if message.place.ranks > 1:
            if "place" not in takes:
                raise Unsupported("the adapter does not support several processes")
            settings["place"] = message.place
        share = message.device_memory_bytes
        if share is not None and "device_memory_bytes" in takes:
            settings["device_memory_bytes"] = share
        runtime: Runtime = make(**settings)
        self.runtime = runtime
        return runtime.describe()

    def state(self, message: wire.AskState) -> WorkerState:
        return state.look()

    def find_shapes(self, message: wire.FindShapes) -> wire.ShapesFound:
        assert self.runtime is not None, "start comes first"
        shapes = self.runtime.shapes(resolve(message.case))
        return wire.ShapesFound(shapes={name: list(shape) for name, shape in shapes.items()})

    def prepare(self, message: wire.Prepare) -> wire.Prepared:
        assert self.runtime is not None, "start comes first"
        if message.memory_limit_bytes:
            limit_memory(message.memory_limit_bytes)
        begin = perf_counter()
        self.make_room()
        steps = prepared(self.runtime, work_of(message.case, proof=message.work))
        cycler = fed_cycler(steps) if is_fed(message.case) else BatchCycler(steps)
        if message.load:
            load(cycler)
        cycler.synchronize()
        self.cycler = cycler
        return wire.Prepared(
            seconds=perf_counter() - begin,
            differences=[*steps.benchmark.differences, *cycler.differences],
            trainable_parameters=steps.benchmark.trainable_parameters(),
            batches=cycler.batches,
            depth=cycler.depth,
        )

    def make_room(self) -> None:
        """Discard what was prepared before."""
        for one in (self.cycler, self.lessons):
            if one is not None:
                one.close()
        self.cycler = self.lessons = None
        gc.unfreeze()  # see worker/clock.py
        gc.collect()  # models refer to themselves

    def prepare_lesson(self, message: learning.PrepareLesson) -> wire.Prepared:
        assert self.runtime is not None, "start comes first"
        self.make_room()
        self.lessons = Lessons(self.runtime, message)
        return self.lessons.prepared()

    def load(self, cycler: BatchCycler, message: wire.Load) -> wire.Loaded:
        load(cycler)
        return wire.Loaded()

    def time_steps(self, cycler: BatchCycler, message: wire.TimeSteps) -> wire.Elapsed:
        elapsed = time_steps(
            cycler.step,
            cycler.synchronize,
            count=message.count,
            each=message.each,
            lead=message.lead,
        )
        return replace(elapsed, marks=cycler.prepared.marked(message.count))

    def time_waits(self, cycler: BatchCycler, message: wire.TimeWaits) -> wire.Elapsed:
        return time_steps(nothing, cycler.synchronize, count=WAITS, each=True)

    def select_batch(self, cycler: BatchCycler, message: wire.SelectBatch) -> wire.BatchSelected:
        cycler.next_batch = message.batch % cycler.batches
        return wire.BatchSelected()

    def renew(self, cycler: BatchCycler, message: wire.Renew) -> wire.Renewed:
        cycler.renew(message)
        cycler.synchronize()
        return wire.Renewed()

    def observe(self, cycler: BatchCycler, message: wire.Observe) -> wire.Observation:
        cycler.observed(message.steps)
        return evidence.observe(cycler.prepared, message, rank=self.rank)

    def profile(self, cycler: BatchCycler, message: wire.Profile) -> Traced:
        profile = getattr(self.runtime, "profile", None)
        if profile is None:
            raise Unsupported("its adapter has no profiler")

        def step() -> None:
            cycler.step()
            cycler.synchronize()

        traced: Traced = profile(step, message.folder)
        return traced

    def memory(self, cycler: BatchCycler, message: wire.Memory) -> wire.MemoryUsed:
        benchmark = cycler.prepared.benchmark
        begin = getattr(benchmark, "begin_peak", None) if message.anew else None
        peak = benchmark.peak_memory_bytes()
        return wire.MemoryUsed(peak_bytes=peak, anew=begin is not None and bool(begin()))

    def close(self, message: wire.Close) -> wire.Closed:
        for one in (self.cycler, self.lessons):
            if one is not None:
                one.close()
        return wire.Closed()


def load(cycler: BatchCycler) -> None:
    """Load the canonical parameters."""
    work = cycler.prepared.work
    evidence.load(cycler.prepared, partial(work.workload.parameters, seed=work.case.seed))
    cycler.loaded()
    cycler.synchronize()


def nothing() -> None:
    pass


def serve(read_fd: int, write_fd: int) -> None:
    """Answer messages from one pipe on the other until closed or the parent hangs up."""
    session = Session()
    count_stops()
    os.set_inheritable(read_fd, False)
    os.set_inheritable(write_fd, False)
    with os.fdopen(read_fd, "rb") as requests, os.fdopen(write_fd, "wb", buffering=0) as replies:
        for line in requests:
            message = wire.decode(line)
            try:
                reply = wire.encode(session.answer(message))
            except Exception as error:
                reply = reply_to(error, session.runtime)
            replies.write(reply)
            if isinstance(message, wire.Close):
                break
    # Frameworks may hang or abort in their exit handlers; all messages have been sent.
    os._exit(0)


def reply_to(error: Exception, runtime: Runtime | None) -> bytes:
    """The encoded failure to send, even if no memory is left to encode it."""
    try:
        traceback.print_exc()  # into the worker's log
        return wire.encode(failure(error, runtime))
    except MemoryError:
        return OUT_OF_MEMORY


def failure(error: Exception, runtime: Runtime | None) -> wire.Failure:
    """The typed outcome of an exception, in one line and with its traceback.

    `runtime` knows how the framework reports that it ran out of memory.
    """
    said = str(error).rstrip()
    text = " ".join(said.split())
    if TRACEBACK in said:  # of a framework's own thread or process: its last line says what failed
        named = text = said.splitlines()[-1].strip()
    else:
        named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if isinstance(error, Unsupported):
        outcome, named = "unsupported", text
    elif is_out_of_memory(error, runtime):
        outcome = "oom"
    else:
        outcome = "failed"
    return wire.Failure(
        outcome=outcome, reason=named[:500], traceback="".join(traceback.format_exc())[-8000:]
    )


def is_out_of_memory(error: Exception, runtime: Runtime | None) -> bool:
    """Whether Python, the system, C++ or the framework reports that memory ran out."""
    if isinstance(error, MemoryError) or speaks_of_memory(str(error)):
        return True
    asked = getattr(runtime, "is_out_of_memory", None)
    return asked is not None and bool(asked(error))


def limit_memory(limit_bytes: int) -> None:
    """Let allocations beyond `limit_bytes` of private memory fail instead of swapping.

    RLIMIT_DATA counts private writable memory only (Linux 4.7 and newer), so address space that
    is merely reserved stays free.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit_bytes = min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))
