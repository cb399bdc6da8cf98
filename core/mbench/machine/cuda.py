"""NVIDIA GPUs as a kind of device, observed through NVML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.device import Check
    from mbench.machine.nvml import Gpu

__all__ = ["Cuda"]


class Cuda:
    """The Device "cuda"."""

    name = "cuda"
    title = "NVIDIA GPU"
    hint = "load its driver, or check CUDA_VISIBLE_DEVICES"
    sharing = "sudo nvidia-smi -c 0"

    def all(self) -> list[Gpu]:
        from mbench.machine import nvml

        return nvml.all_gpus()

    def seen(self) -> list[Gpu]:
        from mbench.machine import nvml

        return nvml.seen_gpus()

    def variables(self) -> dict[str, str]:
        """Number GPUs as NVML does."""
        return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

    def visible(self, local_rank: int) -> dict[str, str]:
        """Variables that show a process one GPU only, of those that mbench itself can see: the user
        may have restricted them. Raises UsageError if they are too few, or one is listed twice.
        """
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        if chosen is None:
            return {"CUDA_VISIBLE_DEVICES": str(local_rank)}
        there = [one.strip() for one in chosen.split(",") if one.strip()]
        if local_rank >= len(there):
            raise UsageError(
                f"CUDA_VISIBLE_DEVICES lists {counted(len(there), 'GPU')}, but this machine needs "
                f"{local_rank + 1} for its processes"
            )
        if there[local_rank] in there[:local_rank]:
            raise UsageError(
                f"CUDA_VISIBLE_DEVICES lists {there[local_rank]} twice: two processes would share "
                "it"
            )
        return {"CUDA_VISIBLE_DEVICES": there[local_rank]}

    def examine(self) -> Iterator[Check]:
        from mbench.machine.doctor import gpu

        return gpu.examine()
