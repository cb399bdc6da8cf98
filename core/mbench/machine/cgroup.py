"""The control groups of Linux that hold this process, and what they allow it of the processor."""

from __future__ import annotations

import re
from pathlib import Path

from mbench.machine.kernel import read

__all__ = ["cpu_limit", "folders", "throttled_seconds"]

SELF = Path("/proc/self/cgroup")
MOUNT = Path("/sys/fs/cgroup")


def folders(controller: str = "cpu") -> list[Path]:
    """The folders of our own group and of all above it, as far as they can be seen.

    `controller` picks the hierarchy where each has its own (version 1).
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
    """How many cores' time the tightest group grants; None where nothing limits it."""
    limits = []
    for folder in folders():
        quota, _, period = (read(folder / "cpu.max") or "").partition(" ")
        quota = quota or read(folder / "cpu.cfs_quota_us") or ""
        period = period or read(folder / "cpu.cfs_period_us") or ""
        if quota.isdecimal() and period.isdecimal():
            limits.append(int(quota) / int(period))
    return min(limits, default=None)


def throttled_seconds() -> float | None:
    """For how long the limits have held processes of the groups up; None without one."""
    total = None
    for folder in folders():
        text = read(folder / "cpu.stat") or ""
        for name, scale in (("throttled_usec", 1e6), ("throttled_time", 1e9)):
            if held := re.search(rf"^{name} (\d+)$", text, re.MULTILINE):
                total = (total or 0.0) + int(held[1]) / scale
    return total
