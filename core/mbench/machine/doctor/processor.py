"""Checks the processor: its clock, other load, and limits."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.device import Check, ok, warn
from mbench.machine import kernel, limits
from mbench.machine.cores import default_threads
from mbench.machine.disturbances import OTHER_CORES
from mbench.machine.doctor import speed
from mbench.machine.doctor.busiest import busiest, processor_times

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["examine"]

LOAD_SECONDS = 1.0
THREAD_VARIABLES = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY",
                    "OMP_DYNAMIC", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")  # fmt: skip


def examine() -> Iterator[Check]:
    cores = kernel.cores_of(os.getpid())
    yield from governor(cores)
    yield from turbo()
    yield from load(cores)
    yield from speed.examine(cores)
    yield limit(cores)
    yield by_default()
    yield threads()


def governor(cores: list[int]) -> Iterator[Check]:
    """The rule by which the kernel sets the clock. Most virtual machines have none."""
    paths = [kernel.CPUS / f"cpu{core}" / "cpufreq" / "scaling_governor" for core in cores]
    found = sorted({text for path in paths if (text := kernel.read(path))})
    if not found:
        yield ok("governor", "not visible here; in a virtual machine the host sets it")
    elif found == ["performance"]:
        yield ok("governor", "performance")
    else:
        hint = "the clock follows the load: sudo cpupower frequency-set -g performance"
        yield warn("governor", ", ".join(found), hint)


def turbo() -> Iterator[Check]:
    """Whether cores may run above their nominal clock, if heat and other cores permit."""
    for name, is_on, off in (
        ("intel_pstate/no_turbo", "0", "1"),
        ("cpufreq/boost", "1", "0"),
    ):
        path = kernel.CPUS / name
        if (text := kernel.read(path)) is not None:
            if text == is_on:
                yield warn("turbo", "on", "the clock depends on heat and on other cores: "
                           f"echo {off} | sudo tee {path}, or keep it and mention it")  # fmt: skip
            else:
                yield ok("turbo", "off")
            return
    yield ok("turbo", "not visible here")


def load(cores: list[int]) -> Iterator[Check]:
    """Load by others, during one second in which mbench does nothing."""
    programs = processor_times()
    begin, before = time.monotonic(), kernel.core_seconds(cores)
    time.sleep(LOAD_SECONDS)
    seconds, after = time.monotonic() - begin, kernel.core_seconds(cores)
    used, stolen = ((b - a) / seconds for a, b in zip(before, after, strict=True))
    there = counted(len(cores), "core")
    found = f"{used:.1f} of {there} in use"
    if used > OTHER_CORES:
        which = busiest(programs, processor_times(), seconds) or "top lists them"
        yield warn("other load", found, f"end other programs: {which}")
    else:
        yield ok("other load", found)
    if stolen > OTHER_CORES:
        yield warn("stolen time", f"{stolen:.1f} of {there}",
                   "the host is shared: use a machine of your own, or another time")  # fmt: skip
    else:
        yield ok("stolen time", f"{stolen:.1f} of {there}")


def limit(cores: list[int]) -> Check:
    """The cgroup's limit, which stops all threads for the rest of a period once it is used up."""
    granted = limits.cpu_limit()
    if granted is None:
        return ok("CPU limit", f"none; {len(cores)} of {os.cpu_count()} logical cores may be used")
    found = f"{granted:g} cores' time on {len(cores)} logical cores"
    if granted >= len(cores):
        return ok("CPU limit", found)
    hint = (
        "mbench starts no more threads than that, but all of them stop for the rest of a period "
        "once its quota is used up: lift the limit "
        "(docker run without --cpus; --cpuset-cpus gives whole cores)"
    )
    return warn("CPU limit", found, hint)


def by_default() -> Check:
    """The number of threads that frameworks get, and what decides it."""
    found = default_threads()
    return ok("threads", f"{found.count} by default: {found.because}")


def threads() -> Check:
    """Variables that move or bind threads; mbench sets the numbers of threads itself."""
    found = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    if found:
        return warn("thread settings", ", ".join(found),
                    "they affect some frameworks and not others: unset them")  # fmt: skip
    return ok("thread settings", "none that bind threads; mbench sets the same number for all")
