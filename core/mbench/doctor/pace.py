"""Looks at whether the cores always take as long for the same work."""

from __future__ import annotations

import os
import time
from statistics import quantiles
from typing import TYPE_CHECKING

from mbench.doctor.check import Check, ok, warn
from mbench.telemetry.pace import UNEVEN, loop_nanoseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["examine", "unevenness"]

CORES = 4
"""At most, spread over those that there are."""
SECONDS = 1.0
"""On each of them. Two levels of speed were seen to last tenths of a second, and seconds."""


def examine(cores: Sequence[int]) -> Check:
    """How much the speed of some of `cores` changes while nothing of ours changes.

    What changes it shows in no counter of a virtual machine: a neighbour on the other hardware
    thread of the core, the host's clock, its heat.
    """
    if not hasattr(os, "sched_setaffinity"):
        return ok("core speed", "cores cannot be chosen on this platform")
    looked_at = list(cores)[:: max(1, -(-len(cores) // CORES))]
    levels = [unevenness(loops_on(core)) for core in looked_at]
    times = ", ".join(f"{level:.2f}" for level in levels)
    said = f"the slowest tenth of equal loops takes {times} times as long as the fastest"
    if max(levels) <= UNEVEN:
        return ok("core speed", said)
    mend = (
        "what no counter shows slows them at times, neighbours on the host's cores or heat: take a "
        "machine of your own, or another hour; expect wide intervals here, and give --until"
    )
    return warn("core speed", said, mend)


def loops_on(core: int) -> list[int]:
    """Processor time of each of many equal loops on one core, from all that ran in the time."""
    before = os.sched_getaffinity(0)
    taken = []
    os.sched_setaffinity(0, {core})
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            taken.append(loop_nanoseconds())
    finally:
        os.sched_setaffinity(0, before)
    return taken[len(taken) // 10 :]  # the clock may have to wake up first


def unevenness(taken: Sequence[float]) -> float:
    """The slowest tenth's bound over the fastest tenth's."""
    tenths = quantiles(taken, n=10)
    return tenths[-1] / tenths[0]
