"""Stand-ins for workers and listeners, with the same methods as the real ones."""

from __future__ import annotations

import inspect
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from mbench.contract import wire
from mbench.contract.worker_state import WorkerState
from mbench.engine.worker import WorkerBase
from mbench.measure import activity
from mbench.plugins.launcher import Process


def calls(kind):
    """The public methods of a class, with the name, kind and default of each parameter."""
    return {
        name: [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def worker_state(**known):
    """The state of an ordinary worker, with the `known` fields replaced."""
    usual = WorkerState(
        packages={}, digests={}, clock=time.perf_counter_ns(), interpreter="CPython 3.11.7",
        garbage_collector="(700, 10, 10)", allocator="/lib/libc.so.6", cores="0", scheduling="",
        boot_id="1",
    )  # fmt: skip
    return replace(usual, **known)


class SilentWorker(WorkerBase):
    """A worker that answers only wire.AskState; subclasses add what they answer."""

    log = Path("none")

    def __init__(self, pid=4711):
        self.processes = [Process(pid=pid)]
        self.stopped = self.closed = False

    def ask(self, message, answer, *, timeout=None):
        raise AssertionError(f"nobody expected {message}")

    def ask_all(self, message, answer, *, timeout=None):
        if isinstance(message, wire.AskState):
            return [worker_state() for _ in self.processes]
        return [self.ask(message, answer, timeout=timeout)]

    def start(self, message):
        raise AssertionError(f"nobody expected {message}")

    def run(self, count, *, each=False, lead=0, timeout=None):
        raise AssertionError(f"nobody expected {count} steps")

    def stop(self):
        self.stopped = True

    def resume(self):
        self.stopped = False

    def close(self):
        self.closed = True

    def kill(self):
        self.closed = True


class NotedActivity:
    """A listener that notes what it hears; anything that is not an activity is an error."""

    def __init__(self):
        self.heard = []

    def hear(self, event, /):
        assert type(event).__name__ in activity.Activity
        self.heard.append(event)

    def quiet(self):
        return nullcontext()

    def close(self):
        pass
