"""Looks at the GPU, where there is an NVIDIA driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.doctor.check import Check, ok, warn
from mbench.telemetry.nvml import DRIVER, SLOWDOWNS, find_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.telemetry.nvml import Gpu

__all__ = ["examine"]


def examine() -> Iterator[Check]:
    """Nothing where there is no GPU: the CPU can be measured without one."""
    gpu = find_gpu()
    if gpu is not None:
        yield from look(gpu)
    elif DRIVER.exists():
        yield warn("GPU", "the driver does not answer", "nvidia-smi says more")


def look(gpu: Gpu) -> Iterator[Check]:
    """Persistence, clocks, what slows it down, and who else uses it."""
    if (persistent := gpu.ask("GetPersistenceMode")) is not None:
        if persistent:
            yield ok("GPU persistence", "on")
        else:
            yield warn("GPU persistence", "off",
                       "the driver is loaded anew each time: sudo nvidia-smi -pm 1")  # fmt: skip
    kind = gpu.nvml.NVML_CLOCK_SM
    now, highest = gpu.ask("GetClockInfo", kind), gpu.ask("GetMaxClockInfo", kind)
    chosen = gpu.ask("GetApplicationsClock", kind)
    if highest:
        said = f"{now} MHz now, {highest} MHz at most"
        if chosen and chosen < highest:
            said += f", set to {chosen} MHz"
        yield ok("GPU clock", said)
    reasons = gpu.sample().slowed_by or 0
    slow = [text for bit, text in SLOWDOWNS.items() if reasons & bit]
    if slow:
        yield warn("GPU slowdown", ", ".join(slow), "see to cooling, power supply and power limit")
    else:
        yield ok("GPU slowdown", "none")
    others = gpu.ask("GetComputeRunningProcesses")
    if others is not None:
        if others:
            found = counted(len(others), "process")
            yield warn("GPU use", found, "end what runs there; nvidia-smi shows it")
        else:
            yield ok("GPU use", "no other process")
