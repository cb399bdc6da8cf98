"""NVIDIA GPUs as a kind of device, looked at through NVML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.machine.doctor.check import Check
    from mbench.machine.nvml import Gpu

__all__ = ["Cuda"]


class Cuda:
    """The Device "cuda"."""

    name = "cuda"
    title = "NVIDIA GPU"
    mend = "load its driver, see what CUDA_VISIBLE_DEVICES names"

    sharing = "sudo nvidia-smi -c 0"

    def all(self) -> list[Gpu]:
        from mbench.machine import nvml

        return nvml.all_gpus()

    def seen(self) -> list[Gpu]:
        from mbench.machine import nvml

        return nvml.seen_gpus()

    def variables(self) -> dict[str, str]:
        """As NVML counts them, so that numbers name the same GPU."""
        return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

    def visible(self, local_rank: int) -> dict[str, str]:
        """Of those that are to be seen now, which whoever started mbench may have chosen."""
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        if chosen is None:
            return {"CUDA_VISIBLE_DEVICES": str(local_rank)}
        there = [one.strip() for one in chosen.split(",") if one.strip()]
        if local_rank >= len(there):
            raise UsageError(
                f"CUDA_VISIBLE_DEVICES shows {len(there)} GPUs, and process {local_rank} of this "
                "machine takes one more"
            )
        return {"CUDA_VISIBLE_DEVICES": there[local_rank]}

    def examine(self) -> Iterator[Check]:
        from mbench.machine.doctor import gpu

        return gpu.examine()
