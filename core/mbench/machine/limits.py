"""Limits of processor time and memory set by the Linux control groups of this process."""

from __future__ import annotations

import re
from pathlib import Path

import psutil

from mbench.machine.kernel import read

__all__ = ["available_bytes", "cpu_limit", "folders", "throttled_seconds"]

SELF = Path("/proc/self/cgroup")
MOUNT = Path("/sys/fs/cgroup")


def folders(controller: str = "cpu") -> list[Path]:
    """The folders of this process's group and of all visible groups above it.

    `controller` selects the hierarchy where each controller has its own (version 1).
    """
    found: list[Path] = []
    for line in (read(SELF) or "").splitlines():
        _, controllers, name = line.split(":", 2)
        if controllers == "":  # version 2
            root = MOUNT
        elif controller in controllers.split(","):
            root = MOUNT / controller
        else:
            continue
        inner = root / name.lstrip("/")
        found += [at for at in (inner, *inner.parents) if at.is_relative_to(root) and at.is_dir()]
    return found


def cpu_limit() -> float | None:
    """How many cores' time the strictest group grants; None without a limit."""
    limits = []
    for folder in folders():
        quota, _, period = (read(folder / "cpu.max") or "").partition(" ")
        quota = quota or read(folder / "cpu.cfs_quota_us") or ""
        period = period or read(folder / "cpu.cfs_period_us") or ""
        if quota.isdecimal() and period.isdecimal():
            limits.append(int(quota) / int(period))
    return min(limits, default=None)


def throttled_seconds() -> float | None:
    """How long limits have stopped processes in the groups; None without a limit."""
    total = None
    for folder in folders():
        text = read(folder / "cpu.stat") or ""
        for name, scale in (("throttled_usec", 1e6), ("throttled_time", 1e9)):
            if held := re.search(rf"^{name} (\d+)$", text, re.MULTILINE):
                total = (total or 0.0) + int(held[1]) / scale
    return total


def available_bytes() -> int:
    """Memory that is available without swapping, within the groups' limits."""
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
