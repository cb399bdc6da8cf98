"""Helpers for tests of real workers: what the workers run, and whether they still run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from alive import gone
from cases import make_case

from mbench.contract import wire
from mbench.engine.outcome import CaseEnded

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.engine.local import LocalWorker

PYTHON = Path(sys.executable)
PATIENCE = 20.0
RUNTIME = "mbench_tiny_flaky:FlakyRuntime"
CASE = make_case()
INFERENCE = make_case(mode="inference")
NOTICE = 10.0
"""Seconds after a fault in which everything that it ends must have ended."""


def framework(runtime: str = RUNTIME) -> wire.Start:
    return wire.Start(runtime=runtime, device="cpu", threads=1)


def prepared(worker: LocalWorker) -> LocalWorker:
    worker.start(framework())
    worker.prepare(CASE)
    return worker


def end_of(worker: LocalWorker, action: Callable[[], object]) -> CaseEnded:
    """How `action` ended the case; nothing of the worker may be left."""
    with pytest.raises(CaseEnded) as caught:
        action()
    assert caught.value.log == worker.log
    eventually(lambda: living(worker.process.pid) == [], "gone")
    return caught.value


def living(group: int) -> list[int]:
    """The ids of a group's processes that have not ended, even if they are stopped."""
    found = []
    for process in psutil.process_iter():
        try:
            dead = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
            if not dead and os.getpgid(process.pid) == group:
                found.append(process.pid)
        except (psutil.NoSuchProcess, ProcessLookupError):
            pass
    return found


def is_stopped(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_STOPPED


def eventually(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"never {what}"
        time.sleep(0.02)


def processor_ticks(pid: int) -> int:
    """User and system time of a process so far (proc(5): fields 14 and 15 of stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def ended(worker, action):
    """How `action` ended the case, within NOTICE seconds; no process of the worker may be left."""
    begin = time.monotonic()
    with pytest.raises(CaseEnded) as caught:
        action()
    assert time.monotonic() - begin < NOTICE
    pids = [process.pid for process in worker.processes]
    eventually(lambda: gone(*pids), "gone")
    return caught.value
