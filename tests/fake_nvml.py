"""A fake NVML with the names and units of NVIDIA's bindings, for GPUs that a test changes.

A GPU does not support a function that it has no answer for, as with real GPUs. Answers have the
shapes of nvml.h and of version 13 of the bindings.
"""

from __future__ import annotations

from types import SimpleNamespace

import pynvml
from mbench_tiny_gpu import MIB, Settings, holders

__all__ = ["FakeGpu", "FakeNvml", "FolderGpu", "process"]


def process(pid, used=None):
    """A process that computes on a GPU; `used` is the memory it holds, in bytes."""
    return SimpleNamespace(pid=pid, usedGpuMemory=used)


class FakeGpu:
    """A GPU that no process uses; `answers` by the functions' names, without nvmlDevice."""

    def __init__(self, number=0, **answers):
        self.instant_milliwatts = None
        self.answers = {
            "GetName": "NVIDIA Made-Up 100",
            "GetUUID": f"GPU-{number}a2b3c4d-0000",
            "GetPciInfo": SimpleNamespace(busId=f"00000000:{0x3B + number:02X}:00.0"),
            "GetMemoryInfo": SimpleNamespace(free=70 * 2**30, used=10 * 2**30, total=80 * 2**30),
            "GetClockInfo": {pynvml.NVML_CLOCK_SM: 1755, pynvml.NVML_CLOCK_MEM: 2619},
            "GetMaxClockInfo": {pynvml.NVML_CLOCK_SM: 1980},
            "GetUtilizationRates": SimpleNamespace(gpu=87, memory=40),
            "GetPowerUsage": 412_500,
            "GetEnforcedPowerLimit": 700_000,
            "GetTotalEnergyConsumption": 3_000_500,
            "GetTemperature": 61,
            "GetCurrentClocksThrottleReasons": 0,
            "GetPersistenceMode": 1,
            "GetComputeMode": pynvml.NVML_COMPUTEMODE_DEFAULT,
            "GetMigMode": [0, 0],
            "GetEccMode": [1, 1],
            "GetComputeRunningProcesses": [],
        }
        self.answers.update(answers)


class FolderGpu(FakeGpu):
    """Tiny's made-up GPU in `folder` as it is now, with the living processes that use it."""

    def __init__(self, folder):
        self.folder = folder
        super().__init__()

    @property
    def answers(self):
        settings, held = Settings.of(self.folder), holders(self.folder)
        used = sum(held.values()) + settings.others * MIB
        whole = settings.memory * MIB
        mode = pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS if settings.exclusive else 0
        return {
            **self.usual,
            "GetName": settings.name,
            "GetPciInfo": SimpleNamespace(busId=f"0000{settings.address.upper()}"),
            "GetMemoryInfo": SimpleNamespace(free=whole - used, used=used, total=whole),
            "GetClockInfo": {pynvml.NVML_CLOCK_SM: settings.sm_mhz, pynvml.NVML_CLOCK_MEM: 2619},
            "GetCurrentClocksThrottleReasons": settings.slowed_by,
            "GetComputeMode": mode,
            "GetComputeRunningProcesses": [process(pid, count) for pid, count in held.items()],
        }

    @answers.setter
    def answers(self, usual):
        self.usual = usual


class FakeNvml:
    """Stands in for the module pynvml."""

    NVMLError = pynvml.NVMLError
    NVML_SUCCESS = pynvml.NVML_SUCCESS
    NVML_CLOCK_SM = pynvml.NVML_CLOCK_SM
    NVML_CLOCK_MEM = pynvml.NVML_CLOCK_MEM
    NVML_TEMPERATURE_GPU = pynvml.NVML_TEMPERATURE_GPU
    NVML_FI_DEV_POWER_INSTANT = pynvml.NVML_FI_DEV_POWER_INSTANT

    def __init__(self, *gpus):
        self.gpus = list(gpus or (FakeGpu(0), FakeGpu(1)))
        self.instances = {}
        """The GPU that a MIG instance is part of, by the UUID of the instance."""
        self.parts = {}
        """A FakeGpu with the answers of a MIG instance itself, by the UUID of the instance."""

    def __getattr__(self, name):
        if not name.startswith("nvmlDevice") or not hasattr(pynvml, name):
            raise AttributeError(name)
        short = name.removeprefix("nvmlDevice")

        def answer(gpu, *arguments):
            if isinstance(gpu, str):  # the handle of a MIG instance is its UUID
                gpu = self.parts.get(gpu, FakeGpu(**dict.fromkeys(FakeGpu().answers)))
            found = gpu.answers.get(short)
            if isinstance(found, dict):
                found = found.get(arguments[0])
            if found is None:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            return found

        return answer

    def nvmlInit(self):  # noqa: N802 (NVIDIA's name)
        if not self.gpus:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)

    def nvmlSystemGetDriverVersion(self):  # noqa: N802
        return "580.95"

    def nvmlDeviceGetCount(self):  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, at):  # noqa: N802
        return self.gpus[at]

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        if uuid not in self.instances:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return uuid

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, instance):  # noqa: N802
        return self.instances[instance]

    def nvmlDeviceGetFieldValues(self, gpu, fields):  # noqa: N802
        assert fields == [pynvml.NVML_FI_DEV_POWER_INSTANT]
        known = gpu.instant_milliwatts is not None
        status = pynvml.NVML_SUCCESS if known else pynvml.NVML_ERROR_NOT_SUPPORTED
        value = SimpleNamespace(uiVal=gpu.instant_milliwatts or 0)
        return [SimpleNamespace(nvmlReturn=status, value=value)]
