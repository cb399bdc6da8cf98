"""Calls fio for one round of a job, and reads what it says."""

from __future__ import annotations

import json
import resource
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mbench.contract.reading import Malformed, read_fields
from mbench.machine.disk.call import called
from mbench.machine.disk.jobs import words
from mbench.machine.disk.outcome import DiskEnded
from mbench.stats import steps_for

if TYPE_CHECKING:
    from mbench.machine.disk.jobs import Job

__all__ = ["Fio", "Flow", "Round", "find"]

SPARE_SECONDS = 60.0
"""For fio to begin and to end, and for a disk to answer what was asked of it last."""
RANKS = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}
BLOCK_BYTES = 512
"""In which the kernel counts what a process made it read."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What was read, or written, in one round."""

    bytes: int
    operations: int
    bytes_per_second: int
    operations_per_second: float
    latency_nanoseconds: dict[str, int]
    """From submission to completion, by percentile: p50, p95, p99, p99.9; none that so few
    operations do not support."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of a job: its flows by direction."""

    flows: dict[str, Flow]
    storage_read_bytes: int
    """What the kernel fetched from storage for fio, the untimed part included: less than was read
    where memory answered."""


@dataclass(frozen=True)
class Latency:
    percentile: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Direction:
    io_bytes: int
    bw_bytes: int
    iops: float
    total_ios: int
    short_ios: int
    drop_ios: int
    lat_ns: Latency


@dataclass(frozen=True)
class Told:
    error: int
    read: Direction
    write: Direction


@dataclass(frozen=True, kw_only=True)
class Fio:
    path: str
    version: str

    def run(
        self, job: Job, descriptor: int, *, size: int, seconds: float, seed: int, direct: bool
    ) -> Round:
        """One round of `job` in the file of an open descriptor; raises DiskEnded."""
        options = words(job, size=size, seconds=seconds, seed=seed, direct=direct)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
        said = called(
            [self.path, f"--filename=/proc/self/fd/{descriptor}", *options],
            limit=2 * seconds + SPARE_SECONDS,
            descriptors=(descriptor,),
        )
        blocks = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before
        return Round(flows=parse(said, job), storage_read_bytes=blocks * BLOCK_BYTES)


def find() -> Fio:
    """fio as it is installed; raises DiskEnded where it is not."""
    path = shutil.which("fio")
    if path is None:
        raise DiskEnded("unsupported", "fio is not installed: apt-get install fio")
    return Fio(path=path, version=called([path, "--version"], limit=SPARE_SECONDS).strip())


def parse(said: str, job: Job) -> dict[str, Flow]:
    """The flows of one job of fio's JSON, before which it may print notes; raises DiskEnded."""
    try:
        body: Any = json.loads(said[said.index("{") :])["jobs"][0]
        told: Told = read_fields(Told, body, where="job", lenient=True)
        if told.error:
            raise DiskEnded("failed", f"fio met error {told.error} in {job.name}")
        return {name: flow(getattr(told, name), f"{job.name}, {name}") for name in job.directions}
    except (Malformed, ValueError, LookupError, TypeError, RecursionError) as error:
        raise DiskEnded("failed", f"fio answered what is no result: {error}") from None


def flow(told: Direction, where: str) -> Flow:
    if told.short_ios or told.drop_ios:
        lost = told.short_ios + told.drop_ios
        raise DiskEnded("failed", f"{lost} operations were cut short or dropped in {where}")
    if not (told.total_ios > 0 and told.bw_bytes > 0 and told.iops > 0):
        raise DiskEnded("failed", f"no operation was completed in {where}: give more --seconds")
    found = {
        round(float(rank), 3): nanoseconds for rank, nanoseconds in told.lat_ns.percentile.items()
    }
    return Flow(
        bytes=told.io_bytes,
        operations=told.total_ios,
        bytes_per_second=told.bw_bytes,
        operations_per_second=told.iops,
        latency_nanoseconds={
            name: found[rank]
            for name, rank in RANKS.items()
            if rank in found and told.total_ios >= steps_for(rank)
        },
    )
