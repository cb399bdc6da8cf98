"""What a framework's libraries and its profiler report of one step of a small ResNet-18."""

from __future__ import annotations

import platform
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from cases import make_case

from mbench.contract import wire
from mbench.contract.adapter import Traced
from mbench.engine.launch import launch
from mbench.environments.environment import Environment
from mbench.explain.kernels import observe
from mbench.sdk import traces

__all__ = ["CONVOLUTIONS", "count", "evidence", "told_by_profiler", "x86_only"]

CONVOLUTIONS = 20
"""The convolutions of ResNet-18. The first one has no gradient of its input."""

x86_only = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="frameworks use these libraries on x86 processors"
)


def here(adapter):
    return Environment(
        label=adapter.name, python=Path(sys.executable), python_version=platform.python_version(),
        managed=False, digest=None, packages={},
    )  # fmt: skip


def small(**changes):
    usual = {"model": "resnet18", "workload": "mbench.workloads.resnet:MODELS", "batch_size": 2,
             "sizes": {"image_size": 32}, "threads": 2}  # fmt: skip
    return make_case(**{**usual, **changes})


def evidence(adapter, *, folder, **changes):
    log = folder / "worker.log"
    found = observe(adapter, here(adapter), small(**changes), log=log, timeout=600.0)
    assert found.unread == 0, "every call could be read"
    return found


def told_by_profiler(adapter, *, folder, **changes):
    """How often each name is in the trace that the profiler writes of one step, on the CPU.

    Such a trace covers the host only, so the reader finds no call of a device.
    """
    case, log, trace = small(**changes), folder / "worker.log", folder / "trace"
    trace.mkdir()
    worker, _ = launch(adapter, here(adapter), case, log=log, timeout=600.0)
    with closing(worker):
        worker.prepare(case)
        worker.run(2)
        found = worker.ask(wire.Profile(folder=str(trace)), Traced)
        worker.run(1)  # as before
    assert (found.calls, found.unread) == ([], 0)
    names = Counter(
        event["name"] for event in traces.events(str(trace)) if event.get("ph") in ("X", "B")
    )
    assert found.other_events == sum(names.values())
    return names


def count(found, primitive, *, propagation=""):
    return sum(
        kernel.count
        for kernel in found.kernels
        if kernel.primitive == primitive and kernel.propagation.startswith(propagation)
    )
