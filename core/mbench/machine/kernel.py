"""Reads counters and gauges of the kernel from /proc and /sys; None if there are none."""

from __future__ import annotations

import os
import re
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Joules",
    "boot_id",
    "clock_mhz",
    "core_seconds",
    "cores_of",
    "cores_of_threads",
    "page_faults",
    "read",
    "stalled_seconds",
    "swapped_bytes",
]  # fmt: skip

PRESSURE = Path("/proc/pressure")
VMSTAT = Path("/proc/vmstat")
CPUINFO = Path("/proc/cpuinfo")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
CPUS = Path("/sys/devices/system/cpu")
POWERCAP = Path("/sys/class/powercap")


def read(path: Path) -> str | None:
    """The stripped text of one of the kernel's files; None if it cannot be read."""
    try:
        return path.read_text().strip()
    except (OSError, ValueError):
        return None


def cores_of(pid: int) -> list[int]:
    """The logical cores that a process may use; all unless it is bound."""
    if hasattr(os, "sched_getaffinity"):
        try:
            return sorted(os.sched_getaffinity(pid))
        except OSError:
            pass  # it is gone
    return list(range(os.cpu_count() or 1))


def cores_of_threads(pid: int) -> set[int]:
    """The logical cores that any thread of a process may use; empty if unknown."""
    try:
        threads = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return set()
    return {core for thread in threads for core in bound_to(thread)}


def bound_to(thread: int) -> set[int]:
    try:
        return os.sched_getaffinity(thread)
    except OSError:
        return set()  # it is gone


def listed(text: str) -> set[int]:
    """The numbers in a list as the kernel writes it: "0-3,8"."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal()):
            return set()
        found.update(range(int(first), int(last or first) + 1))
    return found


def core_seconds(cores: Iterable[int]) -> tuple[float, float]:
    """Seconds since the machine started in which `cores` were busy, and in which they were stolen.

    Guest time is part of user time, and waiting for disks counts as idle.
    """
    each = psutil.cpu_times(percpu=True)  # of cores that are switched on
    numbers = sorted(listed(read(CPUS / "online") or ""))
    times = dict(zip(numbers if len(numbers) == len(each) else range(len(each)), each, strict=True))
    used = [times[core] for core in cores if core in times]
    stolen = sum(getattr(core, "steal", 0.0) for core in used)
    names = ("user", "nice", "system", "irq", "softirq")
    return sum(getattr(core, name, 0.0) for core in used for name in names), stolen


def stalled_seconds(resource: str) -> float | None:
    """Seconds for which some process has waited for `resource`: "cpu", "memory" or "io" (PSI)."""
    some = re.search(r"^some .*total=(\d+)", read(PRESSURE / resource) or "", re.MULTILINE)
    return int(some[1]) / 1e6 if some else None


def swapped_bytes() -> int | None:
    """Bytes swapped in or out since the machine started."""
    pages = re.findall(r"^pswp(?:in|out) (\d+)$", read(VMSTAT) or "", re.MULTILINE)
    return sum(map(int, pages)) * os.sysconf("SC_PAGE_SIZE") if pages else None


def page_faults(pids: Iterable[int]) -> int | None:
    """Page faults of processes and their ended children that needed no disk.

    These are the fields minflt and cminflt of proc(5).
    """
    found = [read(Path(f"/proc/{pid}/stat")) for pid in pids]
    counts = [text.rpartition(")")[2].split()[7:9] for text in found if text]
    return sum(int(count) for pair in counts for count in pair) if counts else None


def clock_mhz(cores: Iterable[int]) -> float | None:
    """The mean clock frequency of `cores` now."""
    found = [read(CPUS / f"cpu{core}" / "cpufreq" / "scaling_cur_freq") for core in cores]
    if known := [int(text) / 1e3 for text in found if text and text.isdecimal()]:
        return fmean(known)
    wanted = set(cores)
    clocks = re.findall(
        r"^processor\s*: (\d+)$.*?^cpu MHz\s*: ([\d.]+)$",
        read(CPUINFO) or "",
        re.MULTILINE | re.DOTALL,
    )
    clocks = [float(mhz) for core, mhz in clocks if int(core) in wanted]
    return fmean(clocks) if clocks else None


class Joules:
    """Energy of all processor packages (Intel's and AMD's RAPL), where it may be read.

    The kernel's counters wrap around at `max_energy_range_uj`; this total does not.
    """

    def __init__(self) -> None:
        packages = [
            folder
            for folder in sorted(POWERCAP.glob("intel-rapl:*"))
            if re.fullmatch(r"intel-rapl:\d+", folder.name)
            and (read(folder / "name") or "").startswith("package")
        ]
        self._last = {folder: self._microjoules(folder) for folder in packages}
        self.known = bool(packages) and None not in self._last.values()
        self._total = 0

    @staticmethod
    def _microjoules(folder: Path, name: str = "energy_uj") -> int | None:
        text = read(folder / name)
        return int(text) if text and text.isdecimal() else None

    def __call__(self) -> float | None:
        if not self.known:
            return None
        for folder, last in self._last.items():
            now = self._microjoules(folder)
            if now is None or last is None:
                return None
            if now < last:
                last -= self._microjoules(folder, "max_energy_range_uj") or last
            self._total += now - last
            self._last[folder] = now
        return self._total / 1e6


def boot_id() -> str:
    """The random id that the kernel chose when it started; empty if it has none. Containers on one
    machine share it.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
