"""How fast the machine is now, by work of our own: no counter of a virtual machine tells."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from statistics import median

__all__ = ["MEMORY_UNEVEN", "UNEVEN", "Paces", "core_pace", "loop_nanoseconds", "memory_pace",
           "paces"]  # fmt: skip

TURNS = 5_000
"""Of an empty loop, a tenth of a millisecond: no memory, no kernel, nothing but the core."""
LOOPS = 20
"""Of which the middle one counts: the core may have to wake up first."""
UNEVEN = 1.1
"""How many times as long as at other times equal loops may take where the machine is fit."""
COPIED_BYTES = 2**25
"""More than most caches hold, together with its copy; some 3 ms."""
COPIES = 3
"""Of which the fastest counts: what holds one up is no matter of memory."""
MEMORY_UNEVEN = 1.15
"""The same for copies: after one that was so much slower, steps took 5 to 10 % longer
(docs/measured/two-cores.md)."""


@dataclass(frozen=True, kw_only=True)
class Paces:
    """Nanoseconds of the same two pieces of work as ever."""

    core: int
    memory: int


def paces() -> Paces:
    """Of the core that we are on and of memory; it takes some ten milliseconds to find out."""
    return Paces(core=core_pace(), memory=memory_pace())


def loop_nanoseconds() -> int:
    """Processor time of one empty loop: other programs' turns on the core do not count."""
    begin = time.thread_time_ns()
    for _ in range(TURNS):
        pass
    return time.thread_time_ns() - begin


def core_pace() -> int:
    """Nanoseconds of a usual loop; it takes two milliseconds to find out."""
    return round(median(loop_nanoseconds() for _ in range(LOOPS)))


def memory_pace() -> int:
    """Nanoseconds of a copy through memory, the fastest of a few."""
    source, target = room()
    return min(copy_nanoseconds(source, target) for _ in range(COPIES))


def copy_nanoseconds(source: bytearray, target: bytearray) -> int:
    begin = time.perf_counter_ns()
    target[:] = source
    return time.perf_counter_ns() - begin


@cache
def room() -> tuple[bytearray, bytearray]:
    """What is copied, and whereto: always the same pages, which are all there from the start."""
    source, target = bytearray(COPIED_BYTES), bytearray(COPIED_BYTES)
    source[:] = target  # until it is written, memory of zeros is one page, read again and again
    target[:] = source
    return source, target
