"""What a machine did during one block, from its samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from statistics import median
from typing import TYPE_CHECKING

from mbench.machine.nvml import SLOWDOWNS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mbench.contract.device import DeviceSample
from mbench.machine.records import Sample

__all__ = ["SLACK_SECONDS", "Usage", "usage"]

TICK_SECONDS = 0.01
"""The kernel's resolution of processor time, USER_HZ, on every supported platform."""
SLACK_SECONDS = 3 * TICK_SECONDS
"""Largest error of a difference of three counters."""
UTILIZATION_SECONDS = 1.0
"""NVML's utilization of a GPU is a mean over up to this time (its manual,
nvmlDeviceGetUtilizationRates): in a shorter block it includes others' utilization."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What happened in one block. Cores are mean numbers of cores in use, shares are of its time.

    None for what the machine does not report, and for clocks if the block was too short to sample
    them while it ran.
    """

    seconds: float
    worker_cores: float
    other_seconds: float
    """Busy time of the cores without the worker's, by counters, accurate to within their error."""
    other_cores: float
    """The same as a mean number of cores, less the error, so that an idle machine does not appear
    loaded in a short block."""
    stolen_cores: float
    available_bytes: int
    throttled: float | None
    cpu_stalled: float | None
    memory_stalled: float | None
    io_stalled: float | None
    swapped_bytes: int | None
    page_faults: float | None
    mhz: float | None
    joules: float | None
    gpu_utilization: float | None
    gpu_watts: float | None
    gpu_mhz: float | None
    gpu_celsius: int | None
    gpu_joules: float | None
    gpu_slowed_by: tuple[str, ...] | None
    gpu_others: int | None
    gpu_bytes: int | None
    """Most memory that the worker held on the GPU."""


def usage(samples: Sequence[Sample]) -> Usage | None:
    """The block between the first and the last sample; None if they were taken at the same time."""
    first, last = samples[0], samples[-1]
    seconds = (last.at_nanoseconds - first.at_nanoseconds) / 1e9
    if seconds <= 0:
        return None
    within = samples[1:-1]
    settled = first.at_nanoseconds + UTILIZATION_SECONDS * 1e9
    late = [sample for sample in within if sample.at_nanoseconds > settled]

    def grown(read: Callable[[Sample], float | None]) -> float | None:
        before, after = read(first), read(last)
        return None if before is None or after is None else max(0.0, after - before)

    def share(read: Callable[[Sample], float | None]) -> float | None:
        difference = grown(read)
        return None if difference is None else difference / seconds

    def level(
        read: Callable[[Sample], float | None], samples: Sequence[Sample] = within
    ) -> float | None:
        values = [value for sample in samples if (value := read(sample)) is not None]
        return median(values) if values else None

    def of_gpu(read: Callable[[DeviceSample], float | None]) -> Callable[[Sample], float | None]:
        return lambda sample: None if sample.gpu is None else read(sample.gpu)

    worker = last.worker_seconds - first.worker_seconds
    others = last.busy_seconds - first.busy_seconds - worker
    stolen = last.stolen_seconds - first.stolen_seconds
    swapped = grown(lambda sample: sample.swapped_bytes)
    masks = [s.gpu.slowed_by for s in within if s.gpu and s.gpu.slowed_by is not None]
    reasons = reduce(or_, masks, 0)
    guests = [s.gpu.others for s in samples if s.gpu and s.gpu.others is not None]
    held = [s.gpu.held_bytes for s in samples if s.gpu and s.gpu.held_bytes is not None]
    celsius = [s.gpu.celsius for s in samples if s.gpu and s.gpu.celsius is not None]
    return Usage(
        seconds=seconds,
        worker_cores=max(0.0, worker / seconds),
        other_seconds=others,
        other_cores=max(0.0, others - SLACK_SECONDS) / seconds,
        stolen_cores=max(0.0, stolen / seconds),
        available_bytes=min(sample.available_bytes for sample in samples),
        throttled=share(lambda sample: sample.throttled_seconds),
        cpu_stalled=share(lambda sample: sample.cpu_stalled_seconds),
        memory_stalled=share(lambda sample: sample.memory_stalled_seconds),
        io_stalled=share(lambda sample: sample.io_stalled_seconds),
        swapped_bytes=None if swapped is None else int(swapped),
        page_faults=grown(lambda sample: sample.page_faults),
        mhz=level(lambda sample: sample.mhz),
        joules=grown(lambda sample: sample.joules),
        gpu_utilization=level(of_gpu(lambda gpu: gpu.utilization), late),
        gpu_watts=level(of_gpu(lambda gpu: gpu.power_watts)),
        gpu_mhz=level(of_gpu(lambda gpu: gpu.sm_mhz)),
        gpu_celsius=max(celsius, default=None),
        gpu_joules=grown(of_gpu(lambda gpu: gpu.joules)),
        gpu_slowed_by=tuple(name for bit, name in SLOWDOWNS.items() if reasons & bit)
        if masks
        else None,
        gpu_others=max(guests, default=None),
        gpu_bytes=max(held, default=None),
    )
