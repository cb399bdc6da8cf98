"""Starts the worker of one case: its interpreter, its variables, its framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.engine.local import Worker
from mbench.engine.memory import worker_limit_bytes
from mbench.engine.variables import thread_variables

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.adapter import Adapter, FrameworkInfo
    from mbench.contract.case import Case
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
) -> tuple[Worker, FrameworkInfo]:
    """A worker whose framework is imported, and what it found; raises CaseEnded.

    On CPU it may take nearly all memory that is free now, or `memory_limit_bytes` if that is
    less: then it fails by itself instead of making the machine swap.
    """
    worker = Worker(
        environment.python,
        modules=(adapter.runtime.partition(":")[0], case.workload.partition(":")[0]),
        variables={
            **thread_variables(case.threads),
            **adapter.environment(threads=case.threads, device=case.device),
            **environment.variables(),
        },
        log=log,
        timeout=timeout,
    )
    limit = worker_limit_bytes(memory_limit_bytes) if case.device == "cpu" else None
    try:
        info = worker.describe(
            wire.Start(
                runtime=adapter.runtime,
                device=case.device,
                threads=case.threads,
                memory_limit_bytes=limit,
            )
        )
    except BaseException:
        worker.kill()
        raise
    return worker, info
