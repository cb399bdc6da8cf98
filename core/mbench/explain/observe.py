"""Lets a worker of its own make one untimed step in which it is told what is computed by what."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.device import HOST
from mbench.contract.trace import Traced
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.explain.profiled import kernels_of, library_of
from mbench.explain.verbose import VARIABLES, read, versions
from mbench.machine.process_end import CUT

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.explain.verbose import Kernel

__all__ = ["Evidence", "observe"]

WARM_UP = 2
"""Steps in which a framework compiles, chooses kernels, and brings weights into their layouts."""
TRACE = ".trace"
"""How the name of the folder ends, beside the log, in which a profiler leaves its trace."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Which kernels one step calls. It is no timing: the step was watched, and its process is not
    one of those that are timed.
    """

    libraries: dict[str, str]
    """Those that told anything since the process began, with their versions; or the device's kind,
    of which the framework's own profiler told."""
    profiled: bool
    """Whether that profiler told, instead of libraries."""
    kernels: list[Kernel]
    """In the order of first calls; none where the framework computes by other means."""
    unread: int
    """Calls of which was told in a format that is not known here."""


def observe(
    adapter: Adapter, environment: Environment, case: Case, *, log: Path, timeout: float
) -> Evidence:
    """What one step of `case` calls after its warm-up; raises CaseEnded.

    On the CPU the libraries tell, on a device the framework's own profiler does. A process of its
    own is started on this machine, and ended. What it prints goes to `log`, a profiler's trace into
    a folder beside it; an answer takes `timeout` seconds at most.
    """
    if case.devices > 1:
        raise CaseEnded("unsupported", "kernels are observed in one process: give --scale 1x1")
    told_by = of_libraries if case.device == HOST else of_profiler
    return told_by(adapter, environment, case, log=log, timeout=timeout)


def of_libraries(
    adapter: Adapter, environment: Environment, case: Case, *, log: Path, timeout: float
) -> Evidence:
    telling = replace(case, variables={**case.variables, **VARIABLES})
    start = size_of(log)
    worker, _ = launch(adapter, environment, telling, log=log, timeout=timeout)
    with closing(worker):
        worker.prepare(case)
        worker.run(WARM_UP)
        begin = size_of(log)
        worker.run(1)
        with log.open("rb") as file:
            file.seek(start)
            whole = file.read()
    if CUT.encode() in whole:
        raise CaseEnded("failed", "its libraries told more than a log holds", log=log)
    said = read(whole[begin - start :].decode(errors="replace"))
    return Evidence(
        libraries=versions(whole.decode(errors="replace")),
        profiled=False,
        kernels=said.kernels,
        unread=said.unread,
    )


def of_profiler(
    adapter: Adapter, environment: Environment, case: Case, *, log: Path, timeout: float
) -> Evidence:
    folder = log.with_suffix(TRACE)
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier process
    folder.mkdir(parents=True)
    worker, info = launch(adapter, environment, case, log=log, timeout=timeout)
    with closing(worker):
        worker.prepare(case)
        worker.run(WARM_UP)
        traced = worker.ask(wire.Profile(folder=str(folder.absolute())), Traced)
    return Evidence(
        libraries=library_of(case.device, info.details),
        profiled=True,
        kernels=kernels_of(traced, case.device),
        unread=traced.unread,
    )


def size_of(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0
