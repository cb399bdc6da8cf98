"""The figures of a disk by the names of SuperBench's disk-benchmark."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from mbench.reports.compat_formats.superbench import OK, return_code

if TYPE_CHECKING:
    from mbench.machine.disk.measure import DiskSummary

__all__ = ["metrics"]

BENCHMARK = "disk-benchmark"
RANKS = {"p95": "95.0", "p99": "99.0", "p99.9": "99.9"}


def metrics(summary: DiskSummary) -> dict[str, float | int]:
    """<device>_<job>_bs in bytes; of each direction <read|write>_iops, and lat_ns_<rank> in ns."""
    device = PurePosixPath(summary.mount.device if summary.mount else "unknown").name
    codes = [return_code(job.outcome) for job in summary.jobs]
    found: dict[str, float | int] = {f"{BENCHMARK}/return_code": max(codes, default=OK)}
    for job in summary.jobs:
        stem = f"{BENCHMARK}/{device}_{job.name}"
        if job.figures:
            found[f"{stem}_bs"] = job.block_bytes
        for direction, figures in job.figures.items():
            found[f"{stem}_{direction}_iops"] = figures.operations_per_second.value
            for rank, name in RANKS.items():
                if latency := figures.latency_nanoseconds.get(rank):
                    found[f"{stem}_{direction}_lat_ns_{name}"] = latency.value
    return found
