"""Where frameworks compute: a kind of device, a device of that kind on this machine, and checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol
from mbench.contract.quantities import Bytes, Celsius, Joules, Megahertz, Number, Share, Watts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["FAIL", "HOST", "OK", "WARN", "Accelerator", "Check", "Device", "DeviceSample", "fail",
           "ok", "warn"]  # fmt: skip

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True, kw_only=True)
class Check:
    """A result of `mbench doctor`: what was found, and what to do about it."""

    name: str
    """What was looked at."""
    status: str
    """"ok"; "warn": measurements suffer; "fail": nothing can be measured."""
    found: str
    """What was found, in words."""
    hint: str = ""
    """What to do; empty if the status is OK."""


def ok(name: str, found: str) -> Check:
    return Check(name=name, status=OK, found=found)


def warn(name: str, found: str, hint: str) -> Check:
    return Check(name=name, status=WARN, found=found, hint=hint)


def fail(name: str, found: str, hint: str) -> Check:
    return Check(name=name, status=FAIL, found=found, hint=hint)


HOST = "cpu"
"""The machine itself, on which every run can compute; it is sampled through the OS kernel."""


@dataclass(frozen=True, kw_only=True)
class DeviceSample:
    """A device at one moment. What its driver does not report is None, and left out of files."""

    utilization: Share | None = None
    """Share of the last moments in which a kernel ran."""
    power_watts: Watts | None = None
    """Power drawn now."""
    sm_mhz: Megahertz | None = None
    """Clock of the multiprocessors."""
    memory_mhz: Megahertz | None = None
    """Clock of the memory."""
    celsius: Celsius | None = None
    """Temperature."""
    slowed_by: Number | None = None
    """Bit mask of NVML's reasons for a lower clock."""
    joules: Joules | None = None
    """Energy drawn so far."""
    others: Number | None = None
    """Processes that used it and were not mbench's."""
    held_bytes: Bytes | None = None
    """Memory that the worker held on it, including the driver's for the worker."""


class Accelerator(Protocol):
    """One device of this machine, as the parent sees it. What the driver does not report is None,
    or an empty text.
    """

    @property
    def name(self) -> str:
        """The manufacturer's name for it."""

    @property
    def address(self) -> str:
        """Its address on the bus, as workers report it in FrameworkInfo.device_address."""

    @property
    def driver(self) -> str:
        """The driver's version."""

    @property
    def mode(self) -> str:
        """Who may compute on it, in words."""

    @property
    def for_one(self) -> bool:
        """Whether only one process may use it at a time."""

    def sample(self, pids: Sequence[int] = ()) -> DeviceSample:
        """Its clocks, power, energy and so on now; `pids` are the worker's processes."""

    def memory(self) -> tuple[int, int] | None:
        """Free and total bytes."""

    def held_bytes(self, pids: Sequence[int]) -> int | None:
        """How much of its memory these processes hold."""

    def facts(self) -> Mapping[str, str]:
        """What identifies it, as text, under names of its own choice."""


class Device(Protocol):
    """A kind of device. Every command imports its module, so it must import libraries lazily."""

    name: str
    """What users type: "cuda". Adapters name it in `devices`."""
    title: str
    """Its name in a sentence: "NVIDIA GPU"."""
    hint: str
    """What to do if none is found, as the end of a sentence."""
    sharing: str
    """The command that lets several processes use a device that is restricted to one."""

    def all(self) -> Sequence[Accelerator]:
        """All devices of this machine, in the driver's order; none without a driver."""

    def seen(self) -> Sequence[Accelerator]:
        """The devices that workers can see, in the workers' order: see `visible`."""

    def variables(self) -> Mapping[str, str]:
        """Variables that every worker on it gets, unless the user has set them."""

    def visible(self, local_rank: int) -> Mapping[str, str]:
        """Variables that make one device visible to the process with that number on its machine,
        and to no other process. For that process it is the first device.
        """

    def examine(self) -> Iterable[Check]:
        """Its part of `mbench doctor`; nothing if there is no such device."""
