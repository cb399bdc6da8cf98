"""An NVIDIA GPU through NVML, by NVIDIA's own bindings; where there is no driver, there is none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.telemetry.sample import GpuSample

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SLOWDOWNS", "Gpu", "find_gpu"]

DRIVER = Path("/proc/driver/nvidia/version")

# nvml.h, nvmlClocksEventReasons: those that lower the clock of a GPU that has work to do.
SLOWDOWNS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x10: "sync boost",
    0x20: "heat, by the driver",
    0x40: "heat, by the hardware",
    0x80: "power brake",
}


class Gpu:
    """The GPU on which frameworks compute: the first that this process may see."""

    def __init__(self, nvml: Any) -> None:
        """`nvml` is the pynvml module, initialised."""
        self.nvml = nvml
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
        if visible.startswith(("GPU-", "MIG-")):
            self.handle = nvml.nvmlDeviceGetHandleByUUID(visible)
        else:
            self.handle = nvml.nvmlDeviceGetHandleByIndex(
                int(visible) if visible.isdecimal() else 0
            )

    def ask(self, name: str, *arguments: Any) -> Any:
        """The answer of nvmlDevice`name`; None where this GPU or driver has none."""
        function: Callable[..., Any] = getattr(self.nvml, f"nvmlDevice{name}")
        try:
            return function(self.handle, *arguments)
        except self.nvml.NVMLError:
            return None

    def sample(self) -> GpuSample:
        used = self.ask("GetUtilizationRates")
        milliwatts = self.ask("GetPowerUsage")
        millijoules = self.ask("GetTotalEnergyConsumption")
        return GpuSample(
            utilization=None if used is None else used.gpu / 100,
            power_watts=None if milliwatts is None else milliwatts / 1e3,
            sm_mhz=self.ask("GetClockInfo", self.nvml.NVML_CLOCK_SM),
            memory_mhz=self.ask("GetClockInfo", self.nvml.NVML_CLOCK_MEM),
            celsius=self.ask("GetTemperature", self.nvml.NVML_TEMPERATURE_GPU),
            # The older of its two names, which all drivers know.
            slowed_by=self.ask("GetCurrentClocksThrottleReasons"),
            joules=None if millijoules is None else millijoules / 1e3,
        )


def find_gpu() -> Gpu | None:
    """The GPU; None without a driver, or where it does not answer."""
    if not DRIVER.exists():
        return None
    import pynvml

    try:
        pynvml.nvmlInit()
        return Gpu(pynvml)
    except pynvml.NVMLError:
        return None
