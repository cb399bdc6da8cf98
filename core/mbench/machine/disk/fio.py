"""Runs fio for one round of a job, and parses its results."""

from __future__ import annotations

import json
import resource
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract.reading import Malformed, read_fields
from mbench.machine.disk.ended import DiskEnded
from mbench.machine.disk.jobs import options_of
from mbench.machine.helper import NoAnswer, ask
from mbench.stats import steps_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.machine.disk.jobs import Job

__all__ = ["RANKS", "Fio", "Flow", "Round", "find"]

VERSION_SECONDS = 5.0
SPARE_SECONDS = 60.0
"""Extra time for fio to start and to end, and for the disk to complete pending operations."""
RANKS = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}
BLOCK_BYTES = 512
"""The unit of the kernel's count of blocks that a process read."""


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What one round read or wrote."""

    bytes: int
    operations: int
    bytes_per_second: int
    operations_per_second: float
    latency_nanoseconds: dict[str, int]
    """From submission to completion, by percentile: p50, p95, p99, p99.9. Percentiles that need
    more operations than were done are absent."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of a job: its flows by direction."""

    flows: dict[str, Flow]
    storage_read_bytes: int
    """What the kernel fetched from storage for fio, including the untimed part: less than was read
    if some of it came from memory."""


# The part of fio's JSON that is read, with fio's names.


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
class JobResult:
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
        options = options_of(job, size=size, seconds=seconds, seed=seed, direct=direct)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
        output = output_of(
            [self.path, f"--filename=/proc/self/fd/{descriptor}", *options],
            seconds=2 * seconds + SPARE_SECONDS,
            descriptors=(descriptor,),
        )
        blocks = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before
        return Round(flows=parse(output, job), storage_read_bytes=blocks * BLOCK_BYTES)


def find() -> Fio:
    """The installed fio; raises DiskEnded if there is none."""
    path = shutil.which("fio")
    if path is None:
        raise DiskEnded("unsupported", "fio is not installed: apt-get install fio")
    return Fio(path=path, version=output_of([path, "--version"], seconds=VERSION_SECONDS).strip())


def output_of(command: Sequence[str], *, seconds: float, descriptors: Sequence[int] = ()) -> str:
    """The command's stdout; raises DiskEnded if it fails or takes longer than `seconds`."""
    try:
        answer = ask(command, seconds=seconds, descriptors=descriptors)
    except NoAnswer as error:
        raise DiskEnded(error.outcome, str(error)) from None
    if answer.failure:
        raise DiskEnded("failed", answer.failure)
    return answer.output


def parse(output: str, job: Job) -> dict[str, Flow]:
    """The flows of one job, from fio's JSON, which other messages may precede; raises DiskEnded."""
    try:
        body = json.loads(output[output.index("{") :])["jobs"][0]
        result: JobResult = read_fields(JobResult, body, where="job", lenient=True)
        if result.error:
            raise DiskEnded("failed", f"fio reported error {result.error} in {job.name}")
        both = {"read": result.read, "write": result.write}
        return {name: flow_of(both[name], f"{job.name}, {name}") for name in job.directions}
    except (Malformed, ValueError, LookupError, TypeError, RecursionError) as error:
        raise DiskEnded("failed", f"cannot parse the output of fio: {error}") from None


def flow_of(found: Direction, where: str) -> Flow:
    """Raises DiskEnded if operations were incomplete, or none was completed."""
    if lost := found.short_ios + found.drop_ios:
        raise DiskEnded("failed", f"{lost} operations were cut short or dropped in {where}")
    if not (found.total_ios > 0 and found.bw_bytes > 0 and found.iops > 0):
        raise DiskEnded("failed", f"no operation was completed in {where}: give a larger --seconds")
    percentiles = {
        round(float(rank), 3): nanoseconds for rank, nanoseconds in found.lat_ns.percentile.items()
    }
    return Flow(
        bytes=found.io_bytes,
        operations=found.total_ios,
        bytes_per_second=found.bw_bytes,
        operations_per_second=found.iops,
        latency_nanoseconds={
            name: percentiles[rank]
            for name, rank in RANKS.items()
            if rank in percentiles and found.total_ios >= steps_for(rank)
        },
    )
