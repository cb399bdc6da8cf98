"""The processor's cores: which of them this process may use, and how many threads suit them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from mbench.console import counted
from mbench.machine import kernel, limits

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Threads", "default_threads", "hardware_threads", "performance_cores",
           "physical_cores", "usable_cores"]  # fmt: skip

HYBRID = Path("/sys/devices")
FAST_AND_SLOW = ("cpu_core/cpus", "cpu_atom/cpus")
"""Files with the threads of performance and of efficiency cores in Intel's hybrid processors."""
SLOW = 0.75
"""Cores below this share of the fastest core's capacity count as efficiency cores. Cores that are
merely favoured for their turbo clock differ by a few per cent."""
BINDERS = {"OMPI_COMM_WORLD_RANK": "mpirun", "PMI_RANK": "mpirun", "SLURM_STEP_ID": "srun"}
"""Variables set by programs that start processes and may bind them to cores."""


@dataclass(frozen=True)
class Threads:
    """A number of threads, and what decided it, in words."""

    count: int
    because: str


def allowed() -> list[int]:
    """The hardware threads on which the current thread may run."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def hardware_threads() -> int:
    """How many threads of this process can run at once: at most the CPUs of a cgroup's quota."""
    quota = limits.cpu_limit()
    return len(allowed()) if quota is None else min(len(allowed()), whole(quota))


def whole(quota: float) -> int:
    """The whole CPUs in a quota: 7 for 7.65, since eight threads would be throttled."""
    return max(1, math.floor(quota))


def physical_cores(logical: Collection[int]) -> list[list[int]]:
    """The hardware threads `logical`, grouped by the physical core that they share."""
    together: dict[str, list[int]] = {}
    for one in sorted(logical):
        siblings = kernel.read(kernel.CPUS / f"cpu{one}" / "topology" / "thread_siblings_list")
        together.setdefault(siblings or str(one), []).append(one)
    return list(together.values())


def usable_cores() -> int:
    """Physical cores that this process may run on."""
    there = allowed()
    if kernel.read(kernel.CPUS / f"cpu{there[0]}" / "topology" / "thread_siblings_list") is None:
        return min(len(there), psutil.cpu_count(logical=False) or len(there))
    return len(physical_cores(there))


def performance_cores(logical: Collection[int]) -> list[int]:
    """Those of `logical` that belong to performance cores; all of them if all cores are alike."""
    fast, slow = (kernel.listed(kernel.read(HYBRID / name) or "") for name in FAST_AND_SLOW)
    if not (fast and slow):
        known = {one: kernel.read(kernel.CPUS / f"cpu{one}" / "cpu_capacity") for one in logical}
        capacity = {one: int(text) for one, text in known.items() if text and text.isdecimal()}
        most = max(capacity.values(), default=0)
        fast = {one for one in logical if capacity.get(one, most) >= SLOW * most}
    return sorted(fast.intersection(logical)) or sorted(logical)


def default_threads(environ: Mapping[str, str] = os.environ) -> Threads:
    """One thread for each physical performance core that this process may use, within its quota.

    If several things restrict the number, the last of them is the reason given.
    """
    logical = psutil.cpu_count() or 1
    total = max(psutil.cpu_count(logical=False) or logical, 1)
    there = allowed()
    count = usable_cores()
    because, of = f"all {counted(count, 'core')} of the machine", f", of {counted(total, 'core')}"
    if count < total:
        by = next((f", set by {who}" for name, who in BINDERS.items() if name in environ), "")
        bound = counted(len(there), "hardware thread")
        because = f"this process is bound to {bound}{by}{of}"
    elif count < logical:
        because = f"the physical cores, of {counted(logical, 'hardware thread')}"
    fast = performance_cores(there)
    if len(fast) < len(there) and (faster := len(physical_cores(fast))) < count:
        count, because = faster, f"the performance cores{of}"
    if (quota := limits.cpu_limit()) is not None and whole(quota) < count:
        granted = f"{quota:.4g} CPU" + "s" * (quota != 1)
        count, because = whole(quota), f"the cgroup's quota of {granted}{of}"
    return Threads(count=count, because=because)
