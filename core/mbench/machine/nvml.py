"""NVIDIA GPUs through NVML, by NVIDIA's own bindings; where there is no driver, there are none."""

from __future__ import annotations

import ctypes
import os
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeAlias

import psutil

from mbench.machine.sample import GpuSample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Processes: TypeAlias = dict[int, int | None]

__all__ = ["SLOWDOWNS", "Gpu", "all_gpus", "has_driver", "seen_gpus"]

LIBRARY = "libnvidia-ml.so.1"

# nvml.h, nvmlClocksEventReasons: those that lower the clock of a GPU that has work to do.
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
"""What a MIG instance answers for itself (NVML's manual, "Multi Instance GPU Management")."""


class Gpu:
    """One GPU."""

    def __init__(self, nvml: Any, handle: Any, part: Any = None) -> None:
        """`nvml` is the pynvml module, initialised; `part` the MIG instance that is used of it."""
        self.nvml = nvml
        self.handle = handle
        self.part = part
        self._ours: dict[int, bool | None] = {}

    def ask(self, name: str, *arguments: Any) -> Any:
        """The answer of nvmlDevice`name`; None where this GPU, driver or binding has none.

        Memory and processes are an instance's own, clocks and power the whole GPU's.
        """
        function: Callable[..., Any] | None = getattr(self.nvml, f"nvmlDevice{name}", None)
        if function is None:
            return None
        handle = self.part if self.part is not None and name in OF_PARTS else self.handle
        try:
            return function(handle, *arguments)
        except self.nvml.NVMLError:
            return None

    def sample(self, pids: Sequence[int] = ()) -> GpuSample:
        """As it is now; `pids` are the worker's."""
        there = self.processes()
        used = self.ask("GetUtilizationRates")
        millijoules = self.ask("GetTotalEnergyConsumption")
        return GpuSample(
            utilization=None if used is None else used.gpu / 100,
            power_watts=self.power_watts(),
            sm_mhz=self.ask("GetClockInfo", self.nvml.NVML_CLOCK_SM),
            memory_mhz=self.ask("GetClockInfo", self.nvml.NVML_CLOCK_MEM),
            celsius=self.ask("GetTemperature", self.nvml.NVML_TEMPERATURE_GPU),
            # The older of its two names, which all drivers know.
            slowed_by=self.ask("GetCurrentClocksThrottleReasons"),
            joules=None if millijoules is None else millijoules / 1e3,
            others=self.strangers(there),
            held_bytes=held(there, pids),
        )

    def power_watts(self) -> float | None:
        """Drawn now. What most GPUs call their power is its mean over a second (NVML's manual,
        nvmlDeviceGetPowerUsage), in which others had their turns.
        """
        field = self.nvml.NVML_FI_DEV_POWER_INSTANT
        for value in self.ask("GetFieldValues", [field]) or ():
            if value.nvmlReturn == self.nvml.NVML_SUCCESS:
                return float(value.value.uiVal) / 1e3
        milliwatts = self.ask("GetPowerUsage")
        return None if milliwatts is None else milliwatts / 1e3

    @property
    def address(self) -> str:
        """Its place on the bus, as CUDA's driver writes it: "0000:3b:00.0"; empty if unknown."""
        found = self.ask("GetPciInfo")
        if found is None:
            return ""
        domain, _, rest = text(found.busId).lower().partition(":")
        return f"{domain[-4:]}:{rest}"

    def memory(self) -> tuple[int, int] | None:
        """Bytes that are free, and all."""
        found = self.ask("GetMemoryInfo")
        return None if found is None else (int(found.free), int(found.total))

    def processes(self) -> Processes | None:
        """Memory that each process holds on it, by pid; None for what is not told.

        Where mbench runs in a container, pids may be those of the machine around it.
        """
        found = self.ask("GetComputeRunningProcesses")
        if found is None:
            return None
        return {one.pid: one.usedGpuMemory for one in found}

    def held_bytes(self, pids: Sequence[int]) -> int | None:
        """What these processes hold on it together; None where that is not told."""
        return held(self.processes(), pids)

    def others(self) -> int | None:
        """How many processes use it that are not mbench's; None where it cannot be told."""
        return self.strangers(self.processes())

    def strangers(self, there: Processes | None) -> int | None:
        """How many of these are not mbench's."""
        if there is None:
            return None
        ours = [self.is_ours(pid) for pid in there]
        return None if None in ours else ours.count(False)

    def is_ours(self, pid: int) -> bool | None:
        """Whether a process comes from this one; None where it is not seen from here."""
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
        """Whether it lets no second process in."""
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
        """What tells it from another: by names of ours, as text."""
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
        return {name: said for name, said in found.items() if said}


def held(there: Processes | None, pids: Sequence[int]) -> int | None:
    """What processes hold together; None where none of them is told of."""
    known = [there[pid] for pid in pids if pid in there] if there else []
    told = [count for count in known if count is not None]
    return sum(told) if told else None


def text(value: Any) -> str:
    """Bindings of some versions give bytes."""
    if value is None:
        return ""
    return value.decode() if isinstance(value, bytes) else str(value)


def mhz(value: int | None) -> str:
    return f"{value} MHz" if value else ""


def has_driver() -> bool:
    """Whether NVML's library can be loaded, which takes no Python of its own."""
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


def begun() -> Any | None:
    """The bindings, initialised; None without a driver, or where it does not answer."""
    if not has_driver():
        return None
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def all_gpus() -> list[Gpu]:
    """Those of this machine, in NVML's order."""
    nvml = begun()
    if nvml is None:
        return []
    try:
        count = nvml.nvmlDeviceGetCount()
        return [Gpu(nvml, nvml.nvmlDeviceGetHandleByIndex(at)) for at in range(count)]
    except nvml.NVMLError:
        return []


def seen_gpus() -> list[Gpu]:
    """Those that CUDA_VISIBLE_DEVICES lets workers see: CUDA stops at the first that is none."""
    gpus = all_gpus()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return gpus
    found = (named(word.strip(), gpus) for word in visible.split(","))
    return list(takewhile(lambda gpu: gpu is not None, found))  # type: ignore[arg-type]


def named(word: str, gpus: Sequence[Gpu]) -> Gpu | None:
    """The GPU that a word of CUDA_VISIBLE_DEVICES means."""
    if word.isdecimal():
        return gpus[int(word)] if int(word) < len(gpus) else None
    if word.startswith("MIG-"):
        return of_instance(word)
    if word.startswith("GPU-"):  # CUDA takes the beginning of a UUID too
        return next((gpu for gpu in gpus if text(gpu.ask("GetUUID")).startswith(word)), None)
    return None


def of_instance(uuid: str) -> Gpu | None:
    """The GPU of which a MIG instance is a part."""
    nvml = begun()
    if nvml is None:
        return None
    try:
        instance = nvml.nvmlDeviceGetHandleByUUID(uuid)
        whole = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance)
        return Gpu(nvml, whole, instance)
    except nvml.NVMLError:
        return None
