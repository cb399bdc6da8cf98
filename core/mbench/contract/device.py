"""Where frameworks compute: a kind of device, and one of that kind on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.compat import Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mbench.machine.doctor.check import Check
    from mbench.machine.sample import GpuSample

__all__ = ["HOST", "Accelerator", "Device"]

HOST = "cpu"
"""The machine itself, which every run can compute on; the kernel tells of it."""


class Accelerator(Protocol):
    """One device of this machine, looked at from the parent. What it does not tell is None, or an
    empty text.
    """

    @property
    def name(self) -> str:
        """What its maker calls it."""

    @property
    def address(self) -> str:
        """Its place on the bus, as workers tell it in FrameworkInfo.device_address."""

    @property
    def driver(self) -> str:
        """The driver's version."""

    @property
    def mode(self) -> str:
        """Who may compute on it, in words."""

    @property
    def for_one(self) -> bool:
        """Whether it lets no second process in."""

    def sample(self, pids: Sequence[int] = ()) -> GpuSample:
        """Its clocks, power, energy and so on now; `pids` are the worker's processes."""

    def memory(self) -> tuple[int, int] | None:
        """Bytes that are free, and all."""

    def held_bytes(self, pids: Sequence[int]) -> int | None:
        """What these processes hold of its memory."""

    def facts(self) -> Mapping[str, str]:
        """What tells it from another, by names of its own, as text."""


class Device(Protocol):
    """A kind of device. Its module is imported by every command, so it imports no library early."""

    name: str
    """What users type: "cuda". Adapters name it in `devices`."""
    title: str
    """What it is called in a sentence: "NVIDIA GPU"."""
    mend: str
    """What to do where none is found, as the end of a sentence."""

    sharing: str
    """The command that lets several processes in, where one was let in alone."""

    def all(self) -> Sequence[Accelerator]:
        """Those of this machine, in its driver's order; none without a driver."""

    def seen(self) -> Sequence[Accelerator]:
        """Those that workers get to see, in their order: see `visible`."""

    def variables(self) -> Mapping[str, str]:
        """What every worker on it gets, unless the user has set it."""

    def visible(self, local_rank: int) -> Mapping[str, str]:
        """What lets the process of that number on its machine see a device of its own, and no
        other's: it finds it as the first.
        """

    def examine(self) -> Iterable[Check]:
        """What `mbench doctor` says of it; nothing where there is none."""
