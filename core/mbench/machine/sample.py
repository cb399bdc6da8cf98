"""One look at the machine: counters that only grow, and what stands on its gauges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mbench.contract.reading import Quantity
from mbench.machine.quantities import Bytes, Instant, Megahertz, Number, Seconds

__all__ = ["GpuSample", "Sample"]

Joules = Annotated[float, Quantity("J")]


@dataclass(frozen=True, kw_only=True)
class GpuSample:
    """The GPU as NVML shows it; what it does not tell is None, and not written down."""

    utilization: Annotated[float, Quantity("share")] | None = None
    """Share of the last moments in which a kernel ran."""
    power_watts: Annotated[float, Quantity("W")] | None = None
    """Power drawn now."""
    sm_mhz: Megahertz | None = None
    """Clock of the multiprocessors."""
    memory_mhz: Megahertz | None = None
    """Clock of the memory."""
    celsius: Annotated[int, Quantity("°C")] | None = None
    """Temperature."""
    slowed_by: Number | None = None
    """Bit mask of NVML's reasons for a lower clock."""
    joules: Joules | None = None
    """Energy drawn so far."""
    others: Number | None = None
    """Processes that used it and were not mbench's."""
    held_bytes: Bytes | None = None
    """Memory that the worker held on it, the driver's own for it included."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The machine as the kernel shows it; what it does not tell is None, and not written down.

    All but `available_bytes` and `mhz` only grow: what they say is in the difference of two
    samples.
    """

    at_nanoseconds: Instant
    """When, on the clock of the blocks."""
    busy_seconds: Seconds
    """Processor time of the cores that the worker may use, whoever used it."""
    stolen_seconds: Seconds
    """Time of the same cores that the hypervisor took for others."""
    worker_seconds: Seconds
    """Processor time of the worker and its children."""
    available_bytes: Bytes
    """Memory that could be had without swapping."""
    throttled_seconds: Seconds | None = None
    """For how long a cgroup's limit held its processes up."""
    cpu_stalled_seconds: Seconds | None = None
    """For how long some process waited for a core (PSI)."""
    memory_stalled_seconds: Seconds | None = None
    """The same, for memory."""
    io_stalled_seconds: Seconds | None = None
    """The same, for a disk."""
    swapped_bytes: Bytes | None = None
    """Swapped in and out together."""
    page_faults: Number | None = None
    """Page faults of the worker and its children that needed no disk."""
    mhz: Megahertz | None = None
    """Mean clock of the worker's cores."""
    joules: Joules | None = None
    """Energy of all processor packages (RAPL)."""
    gpu: GpuSample | None = None
    """The GPU on which frameworks compute."""
