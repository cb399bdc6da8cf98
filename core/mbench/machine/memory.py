"""How much memory there is to give: of the machine, within our control groups."""

from __future__ import annotations

import psutil

from mbench.machine.cgroup import folders
from mbench.machine.kernel import read

__all__ = ["available_bytes"]


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    available = [psutil.virtual_memory().available]
    for folder in folders("memory"):
        limit = read(folder / "memory.max") or read(folder / "memory.limit_in_bytes") or ""
        used = read(folder / "memory.current") or read(folder / "memory.usage_in_bytes") or ""
        if limit.isdecimal() and used.isdecimal():
            statistics = dict(
                line.split(" ", 1) for line in (read(folder / "memory.stat") or "").splitlines()
            )
            cache = statistics.get("total_inactive_file") or statistics.get("inactive_file") or "0"
            available.append(int(limit) - int(used) + int(cache))
    return max(0, min(available))
