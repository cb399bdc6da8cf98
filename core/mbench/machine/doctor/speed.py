"""Checks whether the same work always takes the same time: on the cores, and in memory."""

from __future__ import annotations

import os
import time
from statistics import quantiles
from typing import TYPE_CHECKING

from mbench.contract.device import Check, ok, warn
from mbench.machine.pace import MEMORY_UNEVEN, UNEVEN, loop_nanoseconds, memory_pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["examine", "unevenness"]

CORES = 4
"""Most cores that are tested, spread over all cores."""
SECONDS = 1.0
"""Seconds on each core. Speed levels were observed to last from tenths of a second to seconds."""
MEMORY_SECONDS = 5.0
"""Seconds of copies. Levels of memory speed were observed to last 5 s or more."""
ANOTHER = "use a machine of your own, or another time; expect wide intervals here, and give --until"


def examine(cores: Sequence[int]) -> Iterator[Check]:
    """How much the speed of some of `cores`, and of memory, varies under a constant load.

    The causes appear in no counter of a virtual machine: neighbours on the core's other hardware
    thread or on the same memory, the host's clock, heat.
    """
    yield core_speed(cores)
    yield memory_speed()


def core_speed(cores: Sequence[int]) -> Check:
    if not hasattr(os, "sched_setaffinity"):
        return ok("core speed", "cores cannot be selected on this platform")
    chosen = list(cores)[:: max(1, -(-len(cores) // CORES))]
    levels = [unevenness(loops_on(core)) for core in chosen]
    times = ", ".join(f"{level:.2f}" for level in levels)
    found = f"the slowest tenth of equal loops takes {times} times as long as the fastest"
    if max(levels) <= UNEVEN:
        return ok("core speed", found)
    hint = f"heat, or neighbours on the host's cores, which no counter shows: {ANOTHER}"
    return warn("core speed", found, hint)


def memory_speed() -> Check:
    level = unevenness(copies())
    found = f"the slowest tenth of equal copies takes {level:.2f} times as long as the fastest"
    if level <= MEMORY_UNEVEN:
        return ok("memory speed", found)
    hint = f"neighbours on the host's memory and caches, which no counter shows: {ANOTHER}"
    return warn("memory speed", found, hint)


def loops_on(core: int) -> list[int]:
    """Processor time in nanoseconds of many equal loops on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        return repeated(loop_nanoseconds, seconds=SECONDS)
    finally:
        os.sched_setaffinity(0, before)


def copies() -> list[int]:
    """Nanoseconds of many equal copies through memory."""
    return repeated(memory_pace, seconds=MEMORY_SECONDS)


def repeated(measure: Callable[[], int], *, seconds: float) -> list[int]:
    """Values of `measure` over that time, except the first tenth: the clock may have to wake up."""
    found: list[int] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found.append(measure())
    return found[len(found) // 10 :]


def unevenness(times: Sequence[float]) -> float:
    """The 90th percentile over the 10th."""
    tenths = quantiles(times, n=10)
    return tenths[-1] / tenths[0]
