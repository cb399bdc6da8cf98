"""Which programs use the processor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import psutil

from mbench.console import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["busiest", "processor_times"]

MOST = 2
LEAST_CORES = 0.1
"""A process that uses less than this disturbs nothing on its own."""


class Used(NamedTuple):
    """Processor time of a process since it began."""

    name: str
    seconds: float


def processor_times() -> dict[int, Used]:
    """Times of all visible processes except this one, by their ids."""
    found = {}
    for process in psutil.process_iter(["name", "cpu_times"]):
        times = process.info["cpu_times"]
        if times is not None and process.pid != os.getpid():
            found[process.pid] = Used(process.info["name"] or "?", times.user + times.system)
    return found


def busiest(before: Mapping[int, Used], after: Mapping[int, Used], seconds: float) -> str:
    """The programs that used the most cores between two readings: "python (process 12) 0.9"; empty
    if no visible one used a tenth of a core: in a container, others are not visible.
    """
    cores = {
        pid: (used.seconds - (before[pid].seconds if pid in before else 0.0)) / seconds
        for pid, used in after.items()
    }
    most = sorted(cores, key=lambda pid: (-cores[pid], pid))[:MOST]
    return ", ".join(f"{printable(after[pid].name)} (process {pid}) {cores[pid]:.1f}"
                     for pid in most if cores[pid] >= LEAST_CORES)  # fmt: skip
