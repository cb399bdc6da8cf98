"""The jobs that fio runs, and its options for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["JOBS", "Job", "options_of"]

DEPTH = 64
RAMP = 1 / 6
"""Duration of the untimed part before a job, relative to the timed part: 10 s before 60 s."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A pattern of reads and writes. Names and numbers are those of SuperBench's disk benchmark
    (superbench/benchmarks/micro_benchmarks/disk_performance.py), so that figures can be compared.
    """

    name: str
    pattern: str
    """fio's name for it."""
    block_bytes: int
    threads: int
    directions: Sequence[str]
    read_percent: int | None = None
    depth: int = DEPTH
    """Pending operations per thread."""


def jobs_of(pattern: str, prefix: str, *, block_bytes: int, threads: int) -> list[Job]:
    def job(name: str, kind: str, directions: tuple[str, ...], percent: int | None = None) -> Job:
        return Job(name=f"{pattern}_{name}", pattern=f"{prefix}{kind}", block_bytes=block_bytes,
                   threads=threads, directions=directions, read_percent=percent)  # fmt: skip

    return [
        job("read", "read", ("read",)),
        job("write", "write", ("write",)),
        job("readwrite", "rw", ("read", "write"), 80),
    ]


JOBS = {
    job.name: job
    for job in (
        *jobs_of("seq", "", block_bytes=128 * 2**10, threads=1),
        *jobs_of("rand", "rand", block_bytes=4 * 2**10, threads=4),
    )
}


def options_of(job: Job, *, size: int, seconds: float, seed: int, direct: bool) -> list[str]:
    """fio's options for one round of a job, in a file of `size` bytes.

    They are SuperBench's, except for the `seed`, which differs between rounds: the drive's cache
    may contain the blocks of an earlier round.
    """
    found = {
        "name": job.name,
        "size": size,
        "rw": job.pattern,
        "bs": job.block_bytes,
        "iodepth": job.depth,
        "numjobs": job.threads,
        "ioengine": "libaio",
        "direct": int(direct),
        "time_based": 1,
        "ramp_time": f"{max(1, round(1000 * seconds * RAMP))}ms",
        "runtime": f"{max(1, round(1000 * seconds))}ms",
        "thread": 1,
        "randrepeat": 0,  # with 1, the seed is ignored
        "randseed": seed,
        "norandommap": 1,
        "lat_percentiles": 1,
        "percentile_list": "50:95:99:99.9",
        "group_reporting": 1,
        "output-format": "json",
    }
    if job.read_percent is not None:
        found["rwmixread"] = job.read_percent
    return [f"--{name}={value}" for name, value in found.items()]
