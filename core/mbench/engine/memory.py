"""What workers may take of the memory, and a watch that ends who takes more."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

import psutil

from mbench.machine.memory import available_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

__all__ = ["SHARE", "MemoryWatch", "mib", "resident_bytes", "worker_limit_bytes"]

SHARE = 0.9
"""Of the memory that is free, what workers may take."""
RESERVE = 0.04
"""Of all memory, what must stay free; below it the machine would swap or kill."""
SECONDS = 0.02


def worker_limit_bytes(asked: int | None, *, workers: int = 1, held: int = 0) -> int:
    """What one of `workers` that live side by side may hold on the CPU, if it has `held` now."""
    free = int(available_bytes() * SHARE / workers) + held
    return free if asked is None else min(asked, free)


class MemoryWatch:
    """Kills a worker's process groups before they take what the machine cannot give.

    A limit on allocations is not enough: memory that is shared or mapped from files escapes it.
    The watch looks every 20 ms from a thread of ours, so it is for workers that are tried, not
    for those that are timed.
    """

    def __init__(
        self,
        groups: Sequence[int],
        *,
        limit_bytes: int | None,
        besides: Callable[[], str] = lambda: "",
    ) -> None:
        """`limit_bytes`: most resident memory; without it, only the machine's reserve is kept.

        `besides` says why else they are to end, in words; empty where they are not.
        """
        self.groups = groups
        self.limit_bytes = limit_bytes
        self.besides = besides
        self.reserve_bytes = int(psutil.virtual_memory().total * RESERVE)
        self.reason = ""
        self.largest_bytes = 0
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self.reason and not self._done.wait(SECONDS):
            self.look()

    def look(self) -> None:
        """Once now, and kill if it has to be: for what is over sooner than the thread looks."""
        with self._lock:
            if self.reason:
                return
            used, free = sum(map(resident_bytes, self.groups)), available_bytes()
            self.largest_bytes = max(self.largest_bytes, used)
            if self.limit_bytes is not None and used > self.limit_bytes:
                self.reason = (
                    f"it held {mib(used)} of memory, and {mib(self.limit_bytes)} is its limit"
                )
            elif free < self.reserve_bytes:
                self.reason = (
                    f"it held {mib(used)} of memory, and {mib(free)} was left for all others"
                )
            else:
                self.reason = self.besides()
            if self.reason:
                for group in self.groups:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(group, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and its children; 0 where it is gone."""
    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += one.memory_info().rss
    return total


def mib(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"
