"""One worker's conversation with its parent: a message in, an answer out, until closed."""

from __future__ import annotations

import gc
import importlib
import inspect
import os
import traceback
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mbench.contract import wire
from mbench.contract.adapter import Unsupported
from mbench.contract.outcome import speaks_of_memory
from mbench.contract.reading import Malformed
from mbench.worker import evidence, perturbation
from mbench.worker.batch_cycler import BatchCycler
from mbench.worker.clock import time_steps
from mbench.worker.limits import limit_memory

if TYPE_CHECKING:
    from mbench.contract.adapter import Benchmark, Runtime
    from mbench.contract.case import Case
    from mbench.workloads.workload import Workload

__all__ = ["serve"]

WAITS = 100
OUT_OF_MEMORY = wire.encode(wire.Failure(outcome="oom", reason="MemoryError"))


class Session:
    """Holds the framework and the one prepared case between messages."""

    def __init__(self) -> None:
        self.runtime: Runtime | None = None
        self.case: Case | None = None
        self.workload: Workload | None = None
        self.rotation: BatchCycler | None = None
        self.rank = 0

    def answer(self, message: object) -> object:
        """Do what `message` asks; returns the reply. What the framework raises passes through."""
        if isinstance(message, wire.Start):
            return self.start(message).describe()
        if isinstance(message, wire.Prepare):
            if message.memory_limit_bytes:
                limit_memory(message.memory_limit_bytes)
            return self.prepare(message.case, load=message.load)
        if isinstance(message, wire.FindShapes):
            return self.find_shapes(message.case)
        if isinstance(message, wire.Close):
            return wire.Closed()
        assert self.rotation is not None, "prepare comes first"
        if isinstance(message, wire.TimeSteps):
            return time_steps(
                self.rotation.step,
                self.rotation.synchronize,
                count=message.count,
                each=message.each,
                lead=message.lead,
            )
        if isinstance(message, wire.TimeWaits):
            return time_steps(nothing, self.rotation.synchronize, count=WAITS, each=True)
        assert self.case is not None
        assert self.workload is not None
        if isinstance(message, wire.Look):
            return evidence.look(self.rotation, self.workload, self.case, message)
        if isinstance(message, wire.Nudge):
            return perturbation.nudge(self.rotation, self.workload, self.case, message)
        if isinstance(message, wire.Turn):
            self.rotation.next_batch = message.batch % self.rotation.benchmark.batches
            return wire.Turned()
        if isinstance(message, wire.Load):
            self.load(self.rotation)
            return wire.Loaded()
        if isinstance(message, wire.Profile):
            return self.profile(self.rotation, message.folder)
        if isinstance(message, wire.Memory):
            return memory_used(self.rotation.benchmark, anew=message.anew)
        if isinstance(message, wire.Observe):
            self.rotation.observed(message.steps)
            return evidence.observe(
                self.rotation.benchmark, self.workload, self.case, message, rank=self.rank
            )
        raise Malformed(f"a worker does not take {type(message).__name__}")

    def start(self, message: wire.Start) -> Runtime:
        module, _, name = message.runtime.partition(":")
        settings: dict[str, Any] = {"device": message.device, "threads": message.threads}
        make = getattr(importlib.import_module(module), name)
        takes = inspect.signature(make).parameters
        self.rank = message.place.rank
        if message.place.ranks > 1:
            if "place" not in takes:
                raise Unsupported("the adapter has no work for several processes")
            settings["place"] = message.place
        share = message.device_memory_bytes
        if share is not None and "device_memory_bytes" in takes:
            settings["device_memory_bytes"] = share
        runtime: Runtime = make(**settings)
        self.runtime = runtime
        return runtime

    def find_shapes(self, case: Case) -> wire.ShapesFound:
        assert self.runtime is not None, "start comes first"
        shapes = self.runtime.shapes(case.resolve())
        return wire.ShapesFound(shapes={name: list(shape) for name, shape in shapes.items()})

    def prepare(self, case: Case, *, load: bool) -> wire.Prepared:
        assert self.runtime is not None, "start comes first"
        begin = perf_counter()
        self.rotation = None  # what was before makes room
        gc.unfreeze()  # see worker/clock.py
        gc.collect()  # models refer to themselves
        self.case, self.workload = case, case.resolve()
        benchmark = self.runtime.prepare(case, self.workload)
        rotation = BatchCycler(benchmark)
        if load:
            self.load(rotation)
        rotation.synchronize()
        self.rotation = rotation
        return wire.Prepared(
            seconds=perf_counter() - begin,
            differences=list(benchmark.differences),
            trainable_parameters=benchmark.trainable_parameters(),
            batches=benchmark.batches,
        )

    def profile(self, rotation: BatchCycler, folder: str) -> object:
        profile = getattr(self.runtime, "profile", None)
        if profile is None:
            raise Unsupported("its adapter has no profiler")

        def step() -> None:
            rotation.step()
            rotation.synchronize()

        return profile(step, folder)

    def load(self, rotation: BatchCycler) -> None:
        assert self.case is not None
        assert self.workload is not None
        arrays = partial(self.workload.parameters, seed=self.case.seed)
        evidence.load(rotation.benchmark, arrays, self.case)
        rotation.loaded()
        rotation.synchronize()


def nothing() -> None:
    pass


def memory_used(benchmark: Benchmark, *, anew: bool) -> wire.MemoryUsed:
    begin = getattr(benchmark, "begin_peak", None) if anew else None
    peak = benchmark.peak_memory_bytes()
    return wire.MemoryUsed(peak_bytes=peak, anew=begin is not None and bool(begin()))


def serve(read_fd: int, write_fd: int) -> None:
    """Answer messages from one pipe on the other until closed or the parent hangs up."""
    session = Session()
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
    # Frameworks may hang or abort in their exit handlers; everything said has been said.
    os._exit(0)


def reply_to(error: Exception, runtime: Runtime | None) -> bytes:
    """Its failure as it is sent, even where no memory is left to tell it in."""
    try:
        traceback.print_exc()  # into the worker's log
        return wire.encode(failure(error, runtime))
    except MemoryError:
        return OUT_OF_MEMORY


def failure(error: Exception, runtime: Runtime | None) -> wire.Failure:
    """The typed outcome of an exception, in one line and with its traceback.

    `runtime` is the framework's own, whose words for want of memory are its to know.
    """
    text = " ".join(str(error).split())
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
    """Whether Python, the system, C++ or the framework says so."""
    if isinstance(error, MemoryError) or speaks_of_memory(str(error)):
        return True
    asked = getattr(runtime, "is_out_of_memory", None)
    return asked is not None and bool(asked(error))
