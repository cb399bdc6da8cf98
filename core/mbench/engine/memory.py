"""How much memory workers may use on machines and devices; a watch ends those that use more."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import psutil

from mbench.contract.device import HOST
from mbench.engine.machines import machines
from mbench.machine.devices import accelerator
from mbench.machine.limits import available_bytes
from mbench.machine.processor_time import family

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from mbench.contract.case import Case
    from mbench.contract.device import Accelerator
    from mbench.plugins.launcher import Launcher

__all__ = [
    "SHARE",
    "DeviceMemory",
    "MemoryWatch",
    "allocator_bytes",
    "device_memory_of",
    "mib",
    "resident_bytes",
    "watch",
    "worker_limit_bytes",
]


SHARE = 0.9
"""The share of free memory that workers may use."""
RESERVE = 0.04
"""The share of all memory that must stay free; with less, the machine would swap or kill."""
SECONDS = 0.02


def worker_limit_bytes(asked: int | None, *, workers: int = 1, held: int = 0) -> int:
    """A worker's limit in bytes on the CPU: `workers` run at once, and it has `held` bytes now."""
    free = int(available_bytes() * SHARE / workers) + held
    return free if asked is None else min(asked, free)


class MemoryWatch:
    """Kills a worker's process groups before they exhaust the machine's memory.

    A limit on allocations is not enough: it misses memory that is shared or mapped from files. The
    watch runs every 20 ms in a thread of ours, so it is for trials, not for timed workers.
    """

    def __init__(
        self,
        groups: Sequence[int],
        *,
        limit_bytes: int | None,
        besides: Callable[[], str] = lambda: "",
    ) -> None:
        """`limit_bytes` limits the groups' resident memory; None: only the reserve is protected.

        `besides` returns another reason to end the workers; empty if there is none.
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
        """Check once now, for workers that end before the thread looks."""
        with self._lock:
            if self.reason:
                return
            used, free = sum(map(resident_bytes, self.groups)), available_bytes()
            self.largest_bytes = max(self.largest_bytes, used)
            if self.limit_bytes is not None and used > self.limit_bytes:
                self.reason = f"it held {mib(used)} of memory; its limit is {mib(self.limit_bytes)}"
            elif self.groups and free < self.reserve_bytes:  # others are on other machines
                self.reason = (
                    f"it held {mib(used)} of memory, which left {mib(free)} for everything else"
                )
            else:
                self.reason = self.besides()
            if self.reason:
                for group in self.groups:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(group, signal.SIGKILL)


def resident_bytes(pid: int) -> int:
    """Resident memory of a process and its children; 0 if it has ended."""
    total = 0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += one.memory_info().rss
    return total


def mib(count: int) -> str:
    return f"{count / 2**20:,.0f} MiB"


CONTEXT_BYTES = 512 * 2**20
"""Memory that the driver and libraries take per process, before the framework's allocator."""
LEAST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class DeviceMemory:
    """Free memory of a case's fullest device before any worker started.

    Searching a batch size and measuring with it use the same share of this memory.
    """

    free_bytes: int
    for_one: bool
    """Whether a device allows only a single process."""
    gpu: Accelerator | None = None
    """The devices of this machine; None if workers run on others: their use cannot be seen from
    here, and only the framework enforces their share.
    """

    def limit_bytes(self, asked: int | None, *, workers: int) -> int:
        """The limit of each of `workers`, in bytes."""
        share = int(self.free_bytes * SHARE / workers)
        return share if asked is None else min(asked, share)

    def free_now(self) -> int:
        memory = self.gpu.memory() if self.gpu else None
        return memory[0] if memory else self.free_bytes

    def excess(self, pids: Sequence[int], limit_bytes: int, *, free_before: int) -> str:
        """Why processes hold too much; empty if they do not, or if it is unknown.

        Not all memory is the allocator's, so a ninth more than the limit is allowed. Where the
        driver hides processes, as in containers, all that was taken since `free_before` bytes were
        free counts as theirs.
        """
        if self.gpu is None:
            return ""
        ours = [process.pid for pid in pids for process in family(pid)]
        held = self.gpu.held_bytes(ours)
        if held is None:
            held = free_before - self.free_now()
        if held <= limit_bytes / SHARE:
            return ""
        return f"it held {mib(held)} of the GPU's memory; its share is {mib(limit_bytes)}"


def device_memory_of(case: Case, launcher: Launcher) -> DeviceMemory | None:
    """The memory of the devices visible to a case's processes; None on the CPU and if the driver
    does not report it. Raises MbenchError if a machine cannot be reached.
    """
    if case.device == HOST:
        return None
    ranks = case.parsed_scale.devices_per_node
    there = dict(islice(machines(launcher).items(), case.parsed_scale.nodes))
    seen = [found for machine in there.values() if (found := machine.device(case.device))]
    free = [count for found in seen for count in found.free_bytes[:ranks]]
    if not free:
        return None
    gpu = accelerator(case.device, ranks=ranks) if "" in there else None
    return DeviceMemory(min(free), any(found.for_one for found in seen), gpu)


def watch(
    groups: Sequence[int], *, limit_bytes: int | None, memory: DeviceMemory | None
) -> MemoryWatch:
    """A watch for trials: `limit_bytes` limits the device's memory if `memory` is given."""
    if memory is None or limit_bytes is None:
        return MemoryWatch(groups, limit_bytes=limit_bytes)
    free_before = memory.free_now()
    return MemoryWatch(
        groups,
        limit_bytes=None,
        besides=lambda: memory.excess(groups, limit_bytes, free_before=free_before),
    )


def allocator_bytes(limit_bytes: int) -> int:
    """The part of a worker's share that is left for the framework's own allocator."""
    return max(LEAST_BYTES, limit_bytes - CONTEXT_BYTES)
