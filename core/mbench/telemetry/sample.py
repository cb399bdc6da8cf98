"""One look at the machine: counters that only grow, and what stands on its gauges."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["GpuSample", "Sample"]


@dataclass(frozen=True, kw_only=True)
class GpuSample:
    """The GPU as NVML shows it; None for what this one does not tell.

    `utilization` is the share of the last moments in which a kernel ran. `slowed_by` is a bit
    mask of NVML's reasons for a lower clock. `joules` only grows.
    """

    utilization: float | None = None
    power_watts: float | None = None
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    celsius: int | None = None
    slowed_by: int | None = None
    joules: float | None = None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The machine as the kernel shows it; None for what this one does not tell.

    `at_nanoseconds` is on the clock of the blocks. All but `available_bytes` and `mhz` only grow:
    what they say is in the difference of two samples.

    busy_seconds: of the cores that the worker may use, whoever used them.
    stolen_seconds: of the same cores, taken by the hypervisor for others.
    worker_seconds: processor time of the worker and its children.
    throttled_seconds: for how long a cgroup's limit held its processes up.
    *_stalled_seconds: for how long some process waited for that resource (PSI).
    swapped_bytes: in and out together.
    page_faults: of the worker and its children, those that needed no disk.
    mhz: mean of the worker's cores.
    joules: of all processor packages (RAPL).
    """

    at_nanoseconds: int
    busy_seconds: float
    stolen_seconds: float
    worker_seconds: float
    available_bytes: int
    throttled_seconds: float | None = None
    cpu_stalled_seconds: float | None = None
    memory_stalled_seconds: float | None = None
    io_stalled_seconds: float | None = None
    swapped_bytes: int | None = None
    page_faults: int | None = None
    mhz: float | None = None
    joules: float | None = None
    gpu: GpuSample | None = None

    def document(self) -> dict[str, Any]:
        """As plain data, without what is not known."""
        document = {name: value for name, value in asdict(self).items() if value is not None}
        if self.gpu is not None:
            gpu = asdict(self.gpu).items()
            document["gpu"] = {name: value for name, value in gpu if value is not None}
        return document
