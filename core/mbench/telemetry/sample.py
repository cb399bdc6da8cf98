"""One look at the machine: counters that only grow, and what stands on its gauges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mbench.contract.reading import Quantity
from mbench.quantities import Bytes, Instant, Megahertz, Number, Seconds

__all__ = ["GpuSample", "Sample"]

Joules = Annotated[float, Quantity("J")]


@dataclass(frozen=True, kw_only=True)
class GpuSample:
    """The GPU as NVML shows it; what it does not tell is None, and not written down."""

    utilization: Annotated[float, Quantity("share")] | None = None
    """Of the last moments, in which a kernel ran."""
    power_watts: Annotated[float, Quantity("W")] | None = None
    sm_mhz: Megahertz | None = None
    memory_mhz: Megahertz | None = None
    celsius: Annotated[int, Quantity("°C")] | None = None
    slowed_by: Number | None = None
    """Bit mask of NVML's reasons for a lower clock."""
    joules: Joules | None = None
    """Only grows."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The machine as the kernel shows it; what it does not tell is None, and not written down.

    All but `available_bytes` and `mhz` only grow: what they say is in the difference of two
    samples.
    """

    at_nanoseconds: Instant
    """On the clock of the blocks."""
    busy_seconds: Seconds
    """Of the cores that the worker may use, whoever used them."""
    stolen_seconds: Seconds
    """Of the same cores, taken by the hypervisor for others."""
    worker_seconds: Seconds
    """Processor time of the worker and its children."""
    available_bytes: Bytes
    throttled_seconds: Seconds | None = None
    """For how long a cgroup's limit held its processes up."""
    cpu_stalled_seconds: Seconds | None = None
    """For how long some process waited for a core (PSI)."""
    memory_stalled_seconds: Seconds | None = None
    io_stalled_seconds: Seconds | None = None
    swapped_bytes: Bytes | None = None
    """In and out together."""
    page_faults: Number | None = None
    """Of the worker and its children, those that needed no disk."""
    mhz: Megahertz | None = None
    """Mean of the worker's cores."""
    joules: Joules | None = None
    """Of all processor packages (RAPL)."""
    gpu: GpuSample | None = None
