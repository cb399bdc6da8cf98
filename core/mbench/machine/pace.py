"""The machine's current speed, by small benchmarks: virtual machines have no counter for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from statistics import median

__all__ = ["MEMORY_UNEVEN", "UNEVEN", "Paces", "core_pace", "loop_nanoseconds", "memory_pace",
           "paces"]  # fmt: skip

TURNS = 5_000
"""Iterations of an empty loop that takes a tenth of a millisecond and uses nothing but the core."""
LOOPS = 20
"""Number of loops, whose median counts: the core may have to wake up first."""
UNEVEN = 1.1
"""Factor by which the times of equal loops may differ on a machine fit for measurements."""
COPIED_BYTES = 2**25
"""Together with its copy, larger than most caches; copying takes about 3 ms."""
COPIES = 3
"""Number of copies, of which the fastest counts: delays of single copies are not due to memory."""
MEMORY_UNEVEN = 1.15
"""The same for copies: after a copy that was this much slower, steps took 5 to 10 % longer
(docs/measured/two-cores.md)."""


@dataclass(frozen=True, kw_only=True)
class Paces:
    """Nanoseconds that two fixed pieces of work take."""

    core: int
    memory: int


def paces() -> Paces:
    """The paces of the current core and of memory; measuring takes about ten milliseconds."""
    return Paces(core=core_pace(), memory=memory_pace())


def loop_nanoseconds() -> int:
    """Processor time of one empty loop, which excludes other programs' time on the core."""
    begin = time.thread_time_ns()
    for _ in range(TURNS):
        pass
    return time.thread_time_ns() - begin


def core_pace() -> int:
    """Median nanoseconds of a loop; measuring takes two milliseconds."""
    return round(median(loop_nanoseconds() for _ in range(LOOPS)))


def memory_pace() -> int:
    """Nanoseconds of a copy through memory, the fastest of a few."""
    source, target = buffers()
    return min(copy_nanoseconds(source, target) for _ in range(COPIES))


def copy_nanoseconds(source: bytearray, target: bytearray) -> int:
    begin = time.perf_counter_ns()
    target[:] = source
    return time.perf_counter_ns() - begin


@cache
def buffers() -> tuple[bytearray, bytearray]:
    """Source and target of copies: always the same pages, all allocated at once."""
    source, target = bytearray(COPIED_BYTES), bytearray(COPIED_BYTES)
    source[:] = target  # unwritten memory is a single page of zeros
    target[:] = source
    return source, target
