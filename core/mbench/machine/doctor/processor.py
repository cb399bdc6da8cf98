"""Looks at the processor: its clock, who else uses it, and what limits us."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.machine import cgroup, kernel
from mbench.machine.disturbances import OTHER_CORES
from mbench.machine.doctor import pace
from mbench.machine.doctor.check import Check, ok, warn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["examine"]

LOAD_SECONDS = 1.0
THREAD_VARIABLES = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY",
                    "OMP_DYNAMIC", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")  # fmt: skip


def examine() -> Iterator[Check]:
    """Everything about the processor that can be told here."""
    cores = kernel.cores_of(os.getpid())
    yield from governor(cores)
    yield from turbo()
    yield from load(cores)
    yield from pace.examine(cores)
    yield limit(cores)
    yield threads()


def governor(cores: list[int]) -> Iterator[Check]:
    """The rule by which the kernel sets the clock; there is none in most virtual machines."""
    paths = [kernel.CPUS / f"cpu{core}" / "cpufreq" / "scaling_governor" for core in cores]
    found = sorted({text for path in paths if (text := kernel.read(path))})
    if not found:
        yield ok("governor", "not visible here; a virtual machine has the host's")
    elif found == ["performance"]:
        yield ok("governor", "performance")
    else:
        mend = "the clock follows the load: sudo cpupower frequency-set -g performance"
        yield warn("governor", ", ".join(found), mend)


def turbo() -> Iterator[Check]:
    """Whether cores may run above their nominal clock, as long as heat and neighbours permit."""
    for name, is_on, off in (
        ("intel_pstate/no_turbo", "0", "1"),
        ("cpufreq/boost", "1", "0"),
    ):
        path = kernel.CPUS / name
        if (text := kernel.read(path)) is not None:
            if text == is_on:
                yield warn("turbo", "on", "the clock depends on heat and on other cores: "
                           f"echo {off} | sudo tee {path}, or keep it and say so")  # fmt: skip
            else:
                yield ok("turbo", "off")
            return
    yield ok("turbo", "not visible here")


def load(cores: list[int]) -> Iterator[Check]:
    """What others use of the cores, during one second in which we use none."""
    begin, before = time.monotonic(), kernel.core_seconds(cores)
    time.sleep(LOAD_SECONDS)
    seconds, after = time.monotonic() - begin, kernel.core_seconds(cores)
    used, stolen = ((b - a) / seconds for a, b in zip(before, after, strict=True))
    there = counted(len(cores), "core")
    said = f"{used:.1f} of {there} in use"
    if used > OTHER_CORES:
        yield warn("other load", said, "end other programs; top shows them")
    else:
        yield ok("other load", said)
    if stolen > OTHER_CORES:
        yield warn("stolen time", f"{stolen:.1f} of {there}",
                   "the host is shared: take a machine of your own, or another hour")  # fmt: skip
    else:
        yield ok("stolen time", f"{stolen:.1f} of {there}")


def limit(cores: list[int]) -> Check:
    """A cgroup's limit stops all threads for the rest of a period once the quota is used up."""
    granted = cgroup.cpu_limit()
    if granted is None:
        return ok("CPU limit", f"none; {len(cores)} of {os.cpu_count()} logical cores may be used")
    said = f"{granted:g} cores' time on {len(cores)} logical cores"
    if granted >= len(cores):
        return ok("CPU limit", said)
    mend = (
        "all threads stop for the rest of a period once its quota is used up: lift the limit "
        "(docker run without --cpus; --cpuset-cpus gives whole cores)"
    )
    return warn("CPU limit", said, mend)


def threads() -> Check:
    """Variables that move or bind threads; mbench sets the numbers of threads itself."""
    found = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    if found:
        return warn("thread settings", ", ".join(found),
                    "they may hold for some frameworks and not for others: unset them")  # fmt: skip
    return ok("thread settings", "none that bind threads; mbench sets their number alike for all")
