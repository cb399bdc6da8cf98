"""The memory of a device, which workers that live side by side share; the CPU's is in memory.py."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.engine.machines import machines
from mbench.engine.memory import SHARE, MemoryWatch, mib
from mbench.machine.devices import accelerator
from mbench.machine.sampler import family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.case import Case
    from mbench.contract.device import Accelerator
    from mbench.engine.worker import Launcher

__all__ = ["DeviceMemory", "allocator_bytes", "room_on", "watch"]

CONTEXT_BYTES = 512 * 2**20
"""What the driver and the libraries take for a process before the framework's allocator does."""
LEAST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class DeviceMemory:
    """What was free on the fullest device of a case before any worker lived.

    The same share of it holds where a batch size is searched and where it is measured.
    """

    free_bytes: int
    for_one: bool
    """Whether a device lets no second process in."""
    gpu: Accelerator | None = None
    """The devices of this machine; None where workers run on others: nobody sees from here what
    they hold, and the framework alone keeps them to their share.
    """

    def limit_bytes(self, asked: int | None, *, workers: int) -> int:
        """What one of so many workers may hold in all."""
        share = int(self.free_bytes * SHARE / workers)
        return share if asked is None else min(asked, share)

    def free_now(self) -> int:
        memory = self.gpu.memory() if self.gpu else None
        return memory[0] if memory else self.free_bytes

    def excess(self, pids: Sequence[int], limit_bytes: int, *, free_before: int) -> str:
        """Why processes hold too much, in words; empty where they do not, or nobody knows.

        Not all that is held is the allocator's, so a tenth more than the limit is let pass. Where
        the driver hides processes, as in containers, all that has been taken since `free_before`
        counts as theirs.
        """
        if self.gpu is None:
            return ""
        ours = [process.pid for pid in pids for process in family(pid)]
        held = self.gpu.held_bytes(ours)
        if held is None:
            held = free_before - self.free_now()
        if held <= limit_bytes / SHARE:
            return ""
        return f"it held {mib(held)} of the GPU's memory, and {mib(limit_bytes)} is its share"


def room_on(case: Case, launcher: Launcher) -> DeviceMemory | None:
    """Of the devices that a case's processes get to see where they are started; None on the CPU,
    and where a driver does not tell. Raises MbenchError where a machine cannot be reached.
    """
    if case.device == HOST:
        return None
    ranks = case.places.devices_per_node
    there = dict(islice(machines(launcher).items(), case.places.nodes))
    seen = [found for machine in there.values() if (found := machine.device(case.device))]
    free = [count for found in seen for count in found.free_bytes[:ranks]]
    if not free:
        return None
    gpu = accelerator(case.device, ranks=ranks) if "" in there else None
    return DeviceMemory(min(free), any(found.for_one for found in seen), gpu)


def watch(
    groups: Sequence[int], *, limit_bytes: int | None, room: DeviceMemory | None
) -> MemoryWatch:
    """Of workers that are tried: `limit_bytes` is of the device's memory where there is a room."""
    if room is None or limit_bytes is None:
        return MemoryWatch(groups, limit_bytes=limit_bytes)
    free_before = room.free_now()
    return MemoryWatch(
        groups,
        limit_bytes=None,
        besides=lambda: room.excess(groups, limit_bytes, free_before=free_before),
    )


def allocator_bytes(limit_bytes: int) -> int:
    """What is left of a worker's share for the framework's own allocator."""
    return max(LEAST_BYTES, limit_bytes - CONTEXT_BYTES)
