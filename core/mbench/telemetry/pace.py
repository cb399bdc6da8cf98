"""Times an empty loop: how fast a core is now, which no counter of a virtual machine tells."""

from __future__ import annotations

import time
from statistics import median

__all__ = ["UNEVEN", "loop_nanoseconds", "pace"]

TURNS = 5_000
"""Of an empty loop, a tenth of a millisecond: no memory, no kernel, nothing but the core."""
LOOPS = 20
"""Of which the middle one counts: the core may have to wake up first."""
UNEVEN = 1.1
"""How many times as long as at other times equal loops may take where the machine is fit."""


def loop_nanoseconds() -> int:
    """Processor time of one loop: other programs' turns on the core do not count."""
    begin = time.thread_time_ns()
    for _ in range(TURNS):
        pass
    return time.thread_time_ns() - begin


def pace() -> int:
    """Nanoseconds of a usual loop; it takes two milliseconds to find out."""
    return round(median(loop_nanoseconds() for _ in range(LOOPS)))
