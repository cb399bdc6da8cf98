"""What is recorded of a machine: its description, and samples of it during blocks."""

from __future__ import annotations

from dataclasses import dataclass

from mbench.contract.device import HOST, DeviceSample
from mbench.contract.quantities import (
    Bytes,
    Count,
    Instant,
    Joules,
    Megahertz,
    Number,
    Seconds,
)

__all__ = ["DeviceSeen", "Machine", "Sample", "System"]


@dataclass(frozen=True, kw_only=True)
class System:
    """The machine, before a run began. None for what it does not report."""

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
    default_threads: Count
    """Threads of a framework unless another number is asked for: one for each usable core of the
    fastest kind, at most the CPUs of the cgroup's quota."""
    threads_because: str
    """What decided that number."""
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
    """Each GPU, and each other device, as its driver describes it."""
    variables: dict[str, str]
    """Environment variables that tune workers, which inherit them."""


@dataclass(frozen=True, kw_only=True)
class DeviceSeen:
    """The devices of one kind that processes on a machine can see."""

    kind: str
    mode: str
    """Who may compute on them, in words."""
    for_one: bool
    """Whether one of them can be used by one process only."""
    free_bytes: list[Bytes]
    """Free memory of each device that reports it, in their order."""
    total_bytes: list[Bytes]
    """Total memory of each of these."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine on which processes are to be started."""

    system: System
    threads: Count
    """Hardware threads that processes may use there."""
    devices: list[DeviceSeen]
    """The devices of each kind that it has, besides the machine itself."""
    unsteady: str
    """Why workers cannot have a fixed layout there, and what to do; empty if they can."""

    def device(self, kind: str) -> DeviceSeen | None:
        return next((one for one in self.devices if one.kind == kind), None)

    def memory_bytes(self, kind: str) -> int | None:
        """Memory of the machine, or of the largest device of `kind`; None if none reports it."""
        if kind == HOST:
            return self.system.memory_bytes
        found = self.device(kind)
        return max(found.total_bytes, default=None) if found else None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The machine at one moment. None for what the kernel does not report, which is not written.

    All but `available_bytes`, `mhz` and most of `gpu` are counters: only their differences between
    samples have a meaning.
    """

    at_nanoseconds: Instant
    """When, on the clock of the blocks."""
    busy_seconds: Seconds
    """Processor time of the cores that the worker may use, whoever used it."""
    stolen_seconds: Seconds
    """Time of the same cores that the hypervisor gave to others."""
    worker_seconds: Seconds
    """Processor time of the worker and its children."""
    available_bytes: Bytes
    """Memory that is available without swapping."""
    throttled_seconds: Seconds | None = None
    """How long the limit of a cgroup stopped its processes."""
    cpu_stalled_seconds: Seconds | None = None
    """How long some process waited for a core (PSI)."""
    memory_stalled_seconds: Seconds | None = None
    """The same, for memory."""
    io_stalled_seconds: Seconds | None = None
    """The same, for a disk."""
    swapped_bytes: Bytes | None = None
    """Swapped in or out."""
    page_faults: Number | None = None
    """Page faults of the worker and its children that needed no disk."""
    mhz: Megahertz | None = None
    """Mean clock of the worker's cores."""
    joules: Joules | None = None
    """Energy of all processor packages (RAPL)."""
    gpu: DeviceSample | None = None
    """The GPU on which frameworks compute."""
