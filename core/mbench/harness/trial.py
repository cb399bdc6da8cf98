"""Tries a case in a throw-away worker: does it run, and with how much memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.engine.launch import launch
from mbench.engine.memory import MemoryWatch
from mbench.engine.outcome import CaseEnded
from mbench.engine.worker import pids_here
from mbench.results.tried import Tried

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.case import Case
    from mbench.engine.worker import Launcher
    from mbench.environments.environment import Environment
    from mbench.plan.plan import Entry

__all__ = ["said", "try_case"]


def said(tried: Tried) -> str:
    """In a few words, for whoever waits."""
    if tried.step_seconds is None or tried.peak_bytes is None:
        return f"{tried.value}: {tried.outcome}"
    milliseconds = tried.step_seconds * 1e3
    step = f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"
    return f"{tried.value}: {step} ms, {tried.peak_bytes / 2**20:,.0f} MiB"


def try_case(
    value: int | str,
    entry: Entry,
    environment: Environment,
    case: Case,
    *,
    log: Path,
    timeout: float,
    launcher: Launcher,
    limit_bytes: int | None,
) -> Tried:
    """Two steps of `case`, in a worker that ends with it.

    The second step holds what the first one made: momenta, gradients, compiled programs.
    """
    try:
        worker, _ = launch(
            entry.adapter,
            environment,
            case,
            log=log,
            timeout=timeout,
            memory_limit_bytes=limit_bytes,
            launcher=launcher,
        )
    except CaseEnded as end:
        return Tried(value=value, outcome=end.outcome, reason=end.reason)
    try:
        with MemoryWatch(pids_here(worker), limit_bytes=limit_bytes) as watch:
            worker.prepare(case)
            seconds = [worker.run(1).nanoseconds[0] / 1e9 for _ in range(2)][1]
            # What a measurement looks at takes memory, too.
            worker.ask(wire.Look(changes=case.mode == "train"), wire.Seen)
            used = worker.ask_all(wire.Memory(), wire.MemoryUsed)
            peak = max(process.peak_bytes for process in used)
            return Tried(value=value, step_seconds=seconds, peak_bytes=peak)
    except CaseEnded as end:
        if watch.reason:
            return Tried(value=value, outcome="oom", reason=watch.reason)
        return Tried(value=value, outcome=end.outcome, reason=end.reason)
    finally:
        worker.close()
