"""All checks, in the order of the report, and the few that come before each measurement."""

from __future__ import annotations

import os
import tempfile
import time
from typing import TYPE_CHECKING

import psutil

from mbench.console import counted
from mbench.contract.device import OK, Check, fail, ok, warn
from mbench.machine import kernel
from mbench.machine.devices import kinds
from mbench.machine.disturbances import OTHER_CORES, SPARE_SHARE
from mbench.machine.doctor import memory, processor
from mbench.machine.doctor.busiest import busiest, processor_times
from mbench.plugins.programs import found_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mbench.contract.adapter import Adapter

__all__ = ["examine", "glance"]


def examine(*, results: Path, adapters: Iterable[Adapter] = ()) -> Iterator[Check]:
    """Check the machine, whether it has the programs that frameworks call, and whether runs can be
    written to `results`.
    """
    yield from processor.examine()
    yield from memory.examine()
    for device in kinds().values():
        yield from device.examine()
    for adapter in adapters:
        yield from programs(adapter)
    yield writable(results)


def programs(adapter: Adapter) -> Iterator[Check]:
    """Whether the machine has what the adapter needs and pip cannot install."""
    for need, path in found_for(adapter):
        name = f"{need.programs[0]} for {adapter.title}"
        yield ok(name, path) if path else warn(name, "not on PATH", need.remedy)


def writable(folder: Path) -> Check:
    """Whether the folder of all runs, or its nearest existing parent, is writable."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(dir=there):
            return ok("results folder", str(folder))
    except OSError as error:
        found = f"cannot write to {there}: {error.strerror}"
        return fail("results folder", found, "give another with --results")


SECONDS = 0.3
TICKS = 0.05
"""Seconds by which counters of several cores may be off in that time."""


def glance(*, needed: int) -> list[Check]:
    """What will disturb a measurement whose workers compute on `needed` cores at a time, with the
    worst first. Takes a third of a second.
    """
    cores = kernel.cores_of(os.getpid())
    physical = psutil.cpu_count(logical=False) or len(cores)
    spare = max(0, min(physical, len(cores)) - needed)
    found = [*load(cores, spare=spare), *memory.size(), *processor.governor(cores)]
    return [check for check in found if check.status != OK]


def load(cores: list[int], *, spare: int) -> Iterator[Check]:
    """Load by others that would disturb rounds: this process's own time does not count."""
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
