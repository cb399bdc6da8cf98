"""Starts the worker of one case: its interpreter, its variables, its framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.axes import STEADY
from mbench.contract.rank import ranks_of
from mbench.engine import local
from mbench.engine.isolation import inherited_variables, worker_variables
from mbench.engine.memory import allocator_bytes
from mbench.engine.outcome import CaseEnded
from mbench.engine.worker_state import examine
from mbench.errors import MbenchError
from mbench.machine import memory_layout
from mbench.plugins.launcher import Program

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.adapter import Adapter, FrameworkInfo
    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.plugins.launcher import Launcher, Worker

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
    timed: bool = False,
) -> tuple[Worker, FrameworkInfo]:
    """A worker with its framework imported, and the framework's description; raises CaseEnded.

    `memory_limit_bytes` is its limit of the memory of the device that it computes on. Where it is
    to be `timed`, nothing may slow it down unasked.
    """
    steadily = case.steadiness == STEADY
    try:
        program = Program(
            python=environment.python,
            modules=tuple(
                reference.partition(":")[0]
                for reference in (adapter.runtime, case.workload, case.scenario)
                if reference
            ),
            variables={
                **(memory_layout.variables() if steadily else {}),
                **worker_variables(adapter, case),
                **environment.variables(),
                **case.variables,
            },
            log=log,
            steady_threads=case.threads if steadily else 0,
            device=case.device,
            around=inherited_variables([adapter]),
            timeout_seconds=timeout,
        )
        worker = launcher(program, ranks_of(case.parsed_scale))
    except (CaseEnded, MbenchError) as error:
        raise with_hint(CaseEnded.of(error), environment) from None
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
        worker.states = examine(worker, environment, case.variables, timed=timed)
    except CaseEnded as end:
        worker.kill()
        raise with_hint(end, environment) from None
    except BaseException:  # Ctrl-C too must leave no process
        worker.kill()
        raise
    return worker, info


def with_hint(end: CaseEnded, environment: Environment) -> CaseEnded:
    """The end of a worker that did not start, with a hint what may help."""
    hint = environment.hint()
    if end.outcome not in ("crashed", "failed") or not hint or environment.remedy in end.reason:
        return end
    return CaseEnded(end.outcome, f"{end.reason} ({hint})", log=end.log)
