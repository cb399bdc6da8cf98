"""Processor time of a worker: of all its threads, and of all processes that it has started."""

from __future__ import annotations

import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from mbench.machine.process_tree import VARIABLE, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["clocked", "family", "processor_seconds"]

SCHEDULED = 2
"""CPUCLOCK_SCHED of the kernel's posix-timers.h: the clock of all threads, in nanoseconds."""


def family(pid: int) -> list[psutil.Process]:
    """A process and all its descendants, including those that have another parent by now but still
    have its mark; empty if it has ended.
    """
    try:
        worker = psutil.Process(pid)
        found = {one.pid: one for one in (worker, *worker.children(recursive=True))}
    except psutil.Error:
        return []
    if (tree := tree_of(pid)) is not None:
        for other in tree.living():
            if other not in found:
                try:
                    found[other] = psutil.Process(other)
                except psutil.Error:
                    continue  # it has ended
    return list(found.values())


def tree_of(pid: int) -> ProcessTree | None:
    """All processes with the mark that mbench gave a worker; None if it has no mark."""
    begins = f"{VARIABLE}=".encode()
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    mark = next((one[len(begins) :] for one in variables if one.startswith(begins)), b"")
    return with_mark(mark.decode()) if mark else None


@lru_cache(maxsize=1000)
def with_mark(mark: str) -> ProcessTree:
    """The same tree each time: it remembers strangers, so that it need not read them again."""
    return ProcessTree(mark)


def processor_seconds(processes: Iterable[psutil.Process]) -> float:
    """Processor time of `processes`, and of their children that have ended."""
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue  # it has ended; its parent's time includes its own
        own = clocked(process.pid)
        total += times.user + times.system if own is None else own
        total += times.children_user + times.children_system
    return total


def clocked(pid: int) -> float | None:
    """Processor time of one process by its own clock, to the nanosecond, whereas /proc counts ticks
    of 10 ms; None if there is no such clock (clock_getcpuclockid(3)).
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        return time.clock_gettime((~pid << 3) | SCHEDULED)
    except OSError:
        return None
