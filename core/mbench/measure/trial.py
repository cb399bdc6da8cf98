"""Tries a case in a throw-away worker: does it run, and with how much memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.engine.launch import launch
from mbench.engine.memory import watch
from mbench.engine.outcome import CaseEnded
from mbench.plugins.launcher import pids_here
from mbench.results.facts import Tried

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbench.contract.case import Case
    from mbench.engine.memory import DeviceMemory
    from mbench.environments.environment import Environment
    from mbench.plugins.launcher import Launcher
    from mbench.spec.planning import Entry

__all__ = ["most", "said", "try_case"]


STEPS = 3


def said(tried: Tried) -> str:
    """In a few words, for whoever waits."""
    if tried.step_seconds is None:
        return f"{tried.value}: {tried.outcome}"
    milliseconds = tried.step_seconds * 1e3
    step = f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"
    memory = "" if tried.peak_bytes is None else f", {tried.peak_bytes / 2**20:,.0f} MiB"
    return f"{tried.value}: {step} ms{memory}"


def most(used: Sequence[wire.MemoryUsed]) -> int | None:
    """The peak of the process that used most; None where the framework does not tell."""
    told = [one.peak_bytes for one in used if one.peak_bytes is not None]
    return max(told, default=None)


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
    room: DeviceMemory | None = None,
) -> Tried:
    """Steps of `case`, each looked at as measured ones are, in a worker that ends with it.

    The second step holds what the first one made: momenta, gradients, compiled programs. The third
    finds memory in pieces, as looking has left it.
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
        with watch(pids_here(worker), limit_bytes=limit_bytes, memory=room) as watched:
            worker.prepare(case)
            seconds = []
            for _ in range(STEPS):
                seconds.append(worker.run(1).nanoseconds[0] / 1e9)
                worker.ask(wire.Look(changes=case.updates), wire.Seen)
            used = worker.ask_all(wire.Memory(), wire.MemoryUsed)
            watched.look()
        if watched.reason:
            return Tried(value=value, outcome="oom", reason=watched.reason)
        return Tried(value=value, step_seconds=min(seconds[1:]), peak_bytes=most(used))
    except CaseEnded as end:
        if watched.reason:
            return Tried(value=value, outcome="oom", reason=watched.reason)
        return Tried(value=value, outcome=end.outcome, reason=end.reason)
    finally:
        worker.close()
