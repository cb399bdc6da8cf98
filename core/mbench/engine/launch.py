"""Starts the worker of one case: its interpreter, its variables, its framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.axes import STEADY
from mbench.contract.rank import places_of
from mbench.engine import local
from mbench.engine.device_memory import allocator_bytes
from mbench.engine.outcome import CaseEnded
from mbench.engine.program import Program
from mbench.engine.variables import inherited, of_worker
from mbench.errors import MbenchError
from mbench.machine import memory_layout

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.adapter import Adapter, FrameworkInfo
    from mbench.contract.case import Case
    from mbench.engine.worker import Launcher, Worker
    from mbench.environments.environment import Environment

__all__ = ["launch"]


def launch(
    adapter: Adapter,
    environment: Environment,
    case: Case,
    *,
    log: Path,
    timeout: float,
    memory_limit_bytes: int | None = None,
    launcher: Launcher = local.start,
) -> tuple[Worker, FrameworkInfo]:
    """A worker whose framework is imported, and what it found; raises CaseEnded.

    `memory_limit_bytes` is what it may hold of the memory of the device that it computes on.
    """
    steadily = case.steadiness == STEADY
    try:
        program = Program(
            python=environment.python,
            modules=(adapter.runtime.partition(":")[0], case.workload.partition(":")[0]),
            variables={
                **(memory_layout.variables() if steadily else {}),
                **of_worker(adapter, case),
                **environment.variables(),
                **case.variables,
            },
            log=log,
            steady_threads=case.threads if steadily else 0,
            device=case.device,
            around=inherited([adapter]),
            timeout_seconds=timeout,
        )
        worker = launcher(program, places_of(case.places))
    except (CaseEnded, MbenchError) as error:
        raise mended(CaseEnded.of(error), environment) from None
    share = None
    if case.device == "cpu":
        worker.memory_limit_bytes = memory_limit_bytes
    elif memory_limit_bytes is not None:
        share = allocator_bytes(memory_limit_bytes)
    try:
        info = worker.start(
            wire.Start(
                runtime=adapter.runtime,
                device=case.device,
                threads=case.threads,
                device_memory_bytes=share,
            )
        )
    except CaseEnded as end:
        worker.kill()
        raise mended(end, environment) from None
    except BaseException:  # Ctrl-C too must leave no process
        worker.kill()
        raise
    return worker, info


def mended(end: CaseEnded, environment: Environment) -> CaseEnded:
    """The end of a worker that did not start, with what may mend it."""
    if end.outcome not in ("crashed", "failed") or not (mend := environment.mend()):
        return end
    return CaseEnded(end.outcome, f"{end.reason} ({mend})", log=end.log)
