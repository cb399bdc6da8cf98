"""Checks the GPU, if there is an NVIDIA driver."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.device import Check, fail, ok, warn
from mbench.machine.nvml import SLOWDOWNS, has_driver, seen_gpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.machine.nvml import Gpu

__all__ = ["examine"]


def examine() -> Iterator[Check]:
    """Check the first GPU that workers see; without one, warn if there is a driver."""
    gpu = next(iter(seen_gpus()), None)
    if gpu is not None:
        yield from look(gpu)
    elif has_driver():
        found = "the driver does not answer, or CUDA_VISIBLE_DEVICES lists none of its GPUs"
        yield warn("GPU", found, "see nvidia-smi")


def look(gpu: Gpu) -> Iterator[Check]:
    """The GPU's name, who may use it, its clocks, what slows it down, and who else uses it."""
    facts = gpu.facts()
    yield ok("GPU", f"{facts.get('name', 'unknown')} at {gpu.address}, driver "
                    f"{facts.get('driver_version', 'unknown')}")  # fmt: skip
    if gpu.for_one:
        yield fail("GPU mode", f"{gpu.mode}: frameworks cannot share it",
                   "sudo nvidia-smi -c 0")  # fmt: skip
    if gpu.is_parted:
        yield warn("GPU parts", "MIG is on: clocks, power and energy are those of the whole GPU",
                   "measure on a whole GPU, or mention it")  # fmt: skip
    if "CUDA_MPS_PIPE_DIRECTORY" in os.environ:
        yield warn("GPU sharing", "MPS is in use: killing one worker can end others",
                   "unset CUDA_MPS_PIPE_DIRECTORY")  # fmt: skip
    if (persistent := gpu.ask("GetPersistenceMode")) is not None:
        if persistent:
            yield ok("GPU persistence", "on")
        else:
            yield warn("GPU persistence", "off",
                       "the driver is reloaded each time: sudo nvidia-smi -pm 1")  # fmt: skip
    kind = gpu.nvml.NVML_CLOCK_SM
    now, highest = gpu.ask("GetClockInfo", kind), gpu.ask("GetMaxClockInfo", kind)
    chosen = gpu.ask("GetApplicationsClock", kind)
    if highest:
        found = f"{now} MHz now, {highest} MHz at most"
        if chosen and chosen < highest:
            found += f", set to {chosen} MHz"
        yield ok("GPU clock", found)
    reasons = gpu.sample().slowed_by or 0
    slow = [text for bit, text in SLOWDOWNS.items() if reasons & bit]
    if slow:
        yield warn("GPU slowdown", ", ".join(slow), "check cooling, power supply and power limit")
    else:
        yield ok("GPU slowdown", "none")
    others = gpu.others()
    if others is None:
        yield ok("GPU use", "other processes are not visible from here")
    elif others:
        found = counted(others, "other process")
        yield warn("GPU use", found, "end them; nvidia-smi lists them")
    else:
        yield ok("GPU use", "no other process")
