"""What of the doctor's checks is seen at once, before anything is measured."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import psutil

from mbench.console import counted
from mbench.contract.device import OK, Check, warn
from mbench.machine import kernel
from mbench.machine.disturbances import OTHER_CORES, SPARE_SHARE
from mbench.machine.doctor import memory, processor
from mbench.machine.doctor.busiest import busiest, processor_times

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["glance"]

SECONDS = 0.3
TICKS = 0.05
"""Seconds by which counters of several cores may be off in that time."""


def glance(*, needed: int) -> list[Check]:
    """What will disturb a measurement whose workers compute on `needed` cores at a time; the worst
    first. Takes a third of a second.
    """
    cores = kernel.cores_of(os.getpid())
    physical = psutil.cpu_count(logical=False) or len(cores)
    spare = max(0, min(physical, len(cores)) - needed)
    found = [*load(cores, spare=spare), *memory.size(), *processor.governor(cores)]
    return [check for check in found if check.status != OK]


def load(cores: list[int], *, spare: int) -> Iterator[Check]:
    """Load that would disturb rounds, by others: our own time is not theirs."""
    programs = processor_times()
    begin, before, ours = time.monotonic(), kernel.core_seconds(cores), own_seconds()
    time.sleep(SECONDS)
    seconds, after = time.monotonic() - begin, kernel.core_seconds(cores)
    busy = after[0] - before[0] - (own_seconds() - ours)
    used = max(0.0, busy - TICKS) / seconds
    stolen = max(0.0, after[1] - before[1] - TICKS) / seconds
    there = counted(len(cores), "core")
    if used > OTHER_CORES + SPARE_SHARE * spare:
        which = busiest(programs, processor_times(), seconds) or "top lists them"
        yield warn("other load", f"other programs use {used:.1f} of {there}",
                   f"end them ({which}), or expect wide intervals or no verdict")  # fmt: skip
    if stolen > OTHER_CORES:
        yield warn("stolen time", f"the host takes {stolen:.1f} of {there}",
                   "use a machine of your own, or another time")  # fmt: skip


def own_seconds() -> float:
    """Processor time of this process."""
    times = os.times()
    return times.user + times.system
