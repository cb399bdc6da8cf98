"""Looks at whether the same work always takes as long: on the cores, and through memory."""

from __future__ import annotations

import os
import time
from statistics import quantiles
from typing import TYPE_CHECKING

from mbench.machine.doctor.check import Check, ok, warn
from mbench.machine.pace import MEMORY_UNEVEN, UNEVEN, loop_nanoseconds, memory_pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["examine", "unevenness"]

CORES = 4
"""At most, spread over those that there are."""
SECONDS = 1.0
"""On each of them. Two levels of speed were seen to last tenths of a second, and seconds."""
MEMORY_SECONDS = 5.0
"""Levels of memory's speed were seen to last for 5 s and more."""
ANOTHER = "take your own machine, or another hour; expect wide intervals here, and give --until"


def examine(cores: Sequence[int]) -> Iterator[Check]:
    """How much the speed of some of `cores`, and of memory, changes while nothing of ours changes.

    What changes it shows in no counter of a virtual machine: a neighbour on the other hardware
    thread of the core, or on the same memory, the host's clock, its heat.
    """
    yield core_speed(cores)
    yield memory_speed()


def core_speed(cores: Sequence[int]) -> Check:
    if not hasattr(os, "sched_setaffinity"):
        return ok("core speed", "cores cannot be chosen on this platform")
    looked_at = list(cores)[:: max(1, -(-len(cores) // CORES))]
    levels = [unevenness(loops_on(core)) for core in looked_at]
    times = ", ".join(f"{level:.2f}" for level in levels)
    said = f"the slowest tenth of equal loops takes {times} times as long as the fastest"
    if max(levels) <= UNEVEN:
        return ok("core speed", said)
    mend = f"heat, or neighbours on the host's cores, which no counter shows: {ANOTHER}"
    return warn("core speed", said, mend)


def memory_speed() -> Check:
    level = unevenness(copies())
    said = f"the slowest tenth of equal copies takes {level:.2f} times as long as the fastest"
    if level <= MEMORY_UNEVEN:
        return ok("memory speed", said)
    mend = f"neighbours on the host's memory and caches, which no counter shows: {ANOTHER}"
    return warn("memory speed", said, mend)


def loops_on(core: int) -> list[int]:
    """Processor time of each of many equal loops on one core, from all that ran in the time."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        return taken(loop_nanoseconds, seconds=SECONDS)
    finally:
        os.sched_setaffinity(0, before)


def copies() -> list[int]:
    """Nanoseconds of many equal copies through memory."""
    return taken(memory_pace, seconds=MEMORY_SECONDS)


def taken(look: Callable[[], int], *, seconds: float) -> list[int]:
    """All that `look` found in the time, but for the first tenth: the clock may have to wake up."""
    found: list[int] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found.append(look())
    return found[len(found) // 10 :]


def unevenness(taken: Sequence[float]) -> float:
    """The slowest tenth's bound over the fastest tenth's."""
    tenths = quantiles(taken, n=10)
    return tenths[-1] / tenths[0]
