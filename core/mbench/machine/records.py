"""What a machine tells of itself: the one that runs mbench, and each on which its processes run."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.machine.quantities import Bytes, Count, Megahertz

__all__ = ["DeviceSeen", "Machine", "System"]


@dataclass(frozen=True, kw_only=True)
class System:
    """The machine, before a run began. None for what it does not tell."""

    hostname: str
    """Name of the machine."""
    os: str
    """System and kernel."""
    python: str
    """Version of the Python that runs mbench."""
    cpu: str
    """Processor: its name, family, model and instruction sets."""
    physical_cores: Count | None
    """Cores of the machine."""
    logical_cores: Count | None
    """Hardware threads of the machine."""
    usable_cores: Count
    """Physical cores that this process may use."""
    governor: str | None
    """Frequency governor of the first core."""
    current_mhz: Megahertz | None
    """Clock frequency."""
    transparent_huge_pages: str | None
    """The kernel's setting."""
    memory_bytes: Bytes
    """Memory of the machine."""
    load_average: list[float]
    """Load over 1, 5 and 15 minutes."""
    gpus: list[dict[str, str]]
    """What drivers say of each GPU, and of other devices, as text."""
    variables: dict[str, str]
    """Variables around mbench that tune what workers do, which inherit them."""


@dataclass(frozen=True, kw_only=True)
class DeviceSeen:
    """The devices of a kind that processes on a machine get to see."""

    kind: str
    mode: str
    """Who may compute on them, in words."""
    for_one: bool
    """Whether one of them lets no second process in."""
    free_bytes: list[Bytes]
    """Of the memory of each that tells, in their order."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One on which processes are to be started, and what they find there."""

    system: System
    threads: Count
    """That run at once."""
    devices: list[DeviceSeen]
    """Of each kind that there is, beside the machine itself."""
    unsteady: str
    """Why workers cannot be steady there, with the mend; empty where they can."""

    def device(self, kind: str) -> DeviceSeen | None:
        return next((one for one in self.devices if one.kind == kind), None)
