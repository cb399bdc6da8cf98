"""NVIDIA GPUs through NVML, by NVIDIA's own bindings; none without a driver."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import TYPE_CHECKING, Any, TypeAlias

import psutil

from mbench.console import tell
from mbench.contract.device import DeviceSample

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    Processes: TypeAlias = dict[int, int | None]

__all__ = ["SLOWDOWNS", "Gpu", "all_gpus", "has_driver", "seen_gpus"]

LIBRARY = "libnvidia-ml.so.1"

# nvml.h, nvmlClocksEventReasons: those that lower the clock of a GPU under load.
SLOWDOWNS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x10: "sync boost",
    0x20: "heat, by the driver",
    0x40: "heat, by the hardware",
    0x80: "power brake",
}

MODES = {0: "shared", 1: "exclusive to a thread", 2: "prohibited", 3: "exclusive to a process"}
"""nvml.h, nvmlComputeMode_t, in words."""
SHARED = 0
OF_PARTS = ("GetMemoryInfo", "GetComputeRunningProcesses")
"""Queries that MIG instances answer themselves (NVML manual, "Multi Instance GPU Management")."""


class Gpu:
    """One GPU."""

    def __init__(self, nvml: ModuleType, handle: object, part: object = None) -> None:
        """`nvml` is the initialised module pynvml; `part` the MIG instance that is used."""
        self.nvml = nvml
        self.handle = handle
        self.part = part
        self._ours: dict[int, bool | None] = {}

    def ask(self, name: str, *arguments: object) -> Any:
        """The answer of nvmlDevice`name`; None if this GPU, driver or binding does not support it.

        Memory and processes are those of the MIG instance, clocks and power those of the whole GPU.
        """
        function = getattr(self.nvml, f"nvmlDevice{name}", None)
        if function is None:
            return None
        handle = self.part if self.part is not None and name in OF_PARTS else self.handle
        try:
            return function(handle, *arguments)
        except self.nvml.NVMLError:
            return None

    def sample(self, pids: Sequence[int] = ()) -> DeviceSample:
        """The GPU's current state; `pids` are the worker's."""
        there = self.processes()
        used = self.ask("GetUtilizationRates")
        millijoules = self.ask("GetTotalEnergyConsumption")
        return DeviceSample(
            utilization=None if used is None else used.gpu / 100,
            power_watts=self.power_watts(),
            sm_mhz=self.ask("GetClockInfo", self.nvml.NVML_CLOCK_SM),
            memory_mhz=self.ask("GetClockInfo", self.nvml.NVML_CLOCK_MEM),
            celsius=self.ask("GetTemperature", self.nvml.NVML_TEMPERATURE_GPU),
            # The older of this query's two names, which all drivers support.
            slowed_by=self.ask("GetCurrentClocksThrottleReasons"),
            joules=None if millijoules is None else millijoules / 1e3,
            others=self.foreign(there),
            held_bytes=held(there, pids),
        )

    def power_watts(self) -> float | None:
        """The power now, if the GPU reports it. Otherwise a mean, on most GPUs over a second
        (NVML's manual, nvmlDeviceGetPowerUsage), which includes other workers' turns.
        """
        field = self.nvml.NVML_FI_DEV_POWER_INSTANT
        for value in self.ask("GetFieldValues", [field]) or ():
            if value.nvmlReturn == self.nvml.NVML_SUCCESS:
                return float(value.value.uiVal) / 1e3
        milliwatts = self.ask("GetPowerUsage")
        return None if milliwatts is None else milliwatts / 1e3

    @property
    def address(self) -> str:
        """Its bus address, as CUDA's driver writes it: "0000:3b:00.0"; empty if unknown."""
        found = self.ask("GetPciInfo")
        if found is None:
            return ""
        domain, _, rest = text(found.busId).lower().partition(":")
        return f"{domain[-4:]}:{rest}"

    def memory(self) -> tuple[int, int] | None:
        """Free and total bytes."""
        found = self.ask("GetMemoryInfo")
        return None if found is None else (int(found.free), int(found.total))

    def processes(self) -> Processes | None:
        """The memory of each process on it, by pid; None for what NVML does not report.

        In a container, pids may be those of the host.
        """
        found = self.ask("GetComputeRunningProcesses")
        if found is None:
            return None
        return {one.pid: one.usedGpuMemory for one in found}

    def held_bytes(self, pids: Sequence[int]) -> int | None:
        """How much memory these processes hold on it in total; None if it is not known."""
        return held(self.processes(), pids)

    def others(self) -> int | None:
        """How many processes other than mbench's use it; None if it is not known."""
        return self.foreign(self.processes())

    def foreign(self, there: Processes | None) -> int | None:
        """How many of these are not mbench's; None if it is not known."""
        if there is None:
            return None
        ours = [self.is_ours(pid) for pid in there]
        return None if None in ours else ours.count(False)

    def is_ours(self, pid: int) -> bool | None:
        """Whether a process descends from this one; None if it is not visible."""
        if self._ours.get(pid) is None:
            try:
                above = {one.pid for one in psutil.Process(pid).parents()}
                self._ours[pid] = os.getpid() in above | {pid}
            except psutil.Error:
                return None
        return self._ours[pid]

    @property
    def mode(self) -> str:
        """Who may compute on it, in words; empty if unknown."""
        found = self.ask("GetComputeMode")
        return "" if found is None else MODES.get(found, str(found))

    @property
    def for_one(self) -> bool:
        """Whether only one process may use it at a time."""
        return self.ask("GetComputeMode") not in (None, SHARED)

    @property
    def is_parted(self) -> bool:
        """Whether it is divided into instances (MIG)."""
        return bool((self.ask("GetMigMode") or (0, 0))[0])

    @property
    def name(self) -> str:
        return text(self.ask("GetName"))

    @property
    def driver(self) -> str:
        """Its version."""
        return text(self.nvml.nvmlSystemGetDriverVersion())

    def facts(self) -> dict[str, str]:
        """What identifies it, as text."""
        memory = self.memory()
        limit = self.ask("GetEnforcedPowerLimit")
        ecc = self.ask("GetEccMode")
        found = {
            "name": self.name,
            "uuid": text(self.ask("GetUUID")),
            "address": self.address,
            "driver_version": self.driver,
            "memory": f"{memory[1] / 2**20:,.0f} MiB" if memory else "",
            "power_limit": f"{limit / 1e3:,.0f} W" if limit else "",
            "highest_sm_clock": mhz(self.ask("GetMaxClockInfo", self.nvml.NVML_CLOCK_SM)),
            "set_sm_clock": mhz(self.ask("GetApplicationsClock", self.nvml.NVML_CLOCK_SM)),
            "ecc": "" if ecc is None else ("on" if ecc[0] else "off"),
            "mig": "on" if self.is_parted else "",
            "compute_mode": self.mode,
        }
        return {name: text for name, text in found.items() if text}


def held(there: Processes | None, pids: Sequence[int]) -> int | None:
    """How much memory processes hold in total; None if it is not known for any."""
    found = [there[pid] for pid in pids if pid in there] if there else []
    known = [count for count in found if count is not None]
    return sum(known) if known else None


def text(value: str | bytes | None) -> str:
    """The value as text: some versions of the bindings return bytes."""
    if value is None:
        return ""
    return value.decode() if isinstance(value, bytes) else value


def mhz(value: int | None) -> str:
    return f"{value} MHz" if value else ""


def has_driver() -> bool:
    """Whether NVML's library can be loaded. This does not need the bindings."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


def initialised() -> ModuleType | None:
    """The initialised bindings; None if no driver answers."""
    if not has_driver():
        return None
    import pynvml

    bindings: ModuleType = pynvml
    try:
        bindings.nvmlInit()
    except bindings.NVMLError as error:
        if error.value == bindings.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
            say_mismatch()
        return None
    return bindings


@functools.cache
def say_mismatch() -> None:
    """Say once why a GPU that was there yesterday is now missing."""
    tell("NVIDIA's library and its kernel module have different versions, as after a driver "
         "update, so no GPU can be used: reboot")  # fmt: skip


def all_gpus() -> list[Gpu]:
    """The GPUs of this machine, in NVML's order."""
    nvml = initialised()
    if nvml is None:
        return []
    try:
        count = nvml.nvmlDeviceGetCount()
        return [Gpu(nvml, nvml.nvmlDeviceGetHandleByIndex(at)) for at in range(count)]
    except nvml.NVMLError:
        return []


def seen_gpus() -> list[Gpu]:
    """The GPUs that CUDA_VISIBLE_DEVICES shows to workers: CUDA stops at the first unknown name."""
    gpus = all_gpus()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return gpus
    found = []
    for word in visible.split(","):
        gpu = named(word.strip(), gpus)
        if gpu is None:
            break
        found.append(gpu)
    return found


def named(word: str, gpus: Sequence[Gpu]) -> Gpu | None:
    """The GPU that a word of CUDA_VISIBLE_DEVICES names."""
    if word.isdecimal():
        return gpus[int(word)] if int(word) < len(gpus) else None
    if word.startswith("MIG-"):
        return of_instance(word)
    if word.startswith("GPU-"):  # CUDA accepts the beginning of a UUID, too
        return next((gpu for gpu in gpus if text(gpu.ask("GetUUID")).startswith(word)), None)
    return None


def of_instance(uuid: str) -> Gpu | None:
    """The GPU of a MIG instance; None if there is no such instance."""
    nvml = initialised()
    if nvml is None:
        return None
    try:
        instance = nvml.nvmlDeviceGetHandleByUUID(uuid)
        whole = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance)
        return Gpu(nvml, whole, instance)
    except nvml.NVMLError:
        return None
