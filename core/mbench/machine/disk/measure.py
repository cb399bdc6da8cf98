"""Runs all jobs in interleaved rounds, and summarises them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench import stats
from mbench.console import counted, span
from mbench.machine.disk.ended import DiskEnded
from mbench.machine.disk.fio import RANKS, find
from mbench.machine.disk.jobs import JOBS, RAMP
from mbench.machine.disk.test_file import check, mount_of, temporary_file
from mbench.machine.system import describe_system

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from mbench.machine.disk.fio import Round
    from mbench.machine.disk.jobs import Job
    from mbench.machine.disk.test_file import Mount
    from mbench.machine.records import System

__all__ = ["SCHEMA", "DiskSummary", "Figures", "JobSummary", "measure"]

SCHEMA = 1
FROM_MEMORY = 0.9
"""If less than this share of the bytes read came from storage, memory answered the rest."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Means over rounds, with their intervals."""

    bytes_per_second: stats.Interval
    operations_per_second: stats.Interval
    latency_nanoseconds: dict[str, stats.Interval]
    """Latency by percentile."""


@dataclass(frozen=True, kw_only=True)
class JobSummary:
    name: str
    block_bytes: int
    threads: int
    depth: int
    read_percent: int | None
    outcome: str
    reason: str | None
    figures: dict[str, Figures]
    """Figures by direction."""
    rounds: Sequence[Round]
    """Raw values."""


@dataclass(frozen=True, kw_only=True)
class DiskSummary:
    schema: int
    status: str
    """ "complete" or "interrupted"."""
    folder: str
    mount: Mount | None
    tool: str
    """The version of fio."""
    direct: bool
    """Whether the page cache was bypassed."""
    size_bytes: int
    """Size of the test file."""
    seconds: float
    """Timed seconds of each job in each round."""
    jobs: Sequence[JobSummary]
    remarks: Sequence[str]
    system: System


def estimate(folder: Path, jobs: Sequence[str], *, size: int, seconds: float, rounds: int) -> str:
    """What will be measured and how long that takes, in one line.

    Raises MbenchError if nothing can be measured.
    """
    check(folder, size=size)
    long = span(rounds * len(jobs) * seconds * (1 + RAMP))
    return (
        f"{counted(len(jobs), 'job')} of {seconds:g} s in {counted(rounds, 'round')}: about {long}"
        f", after writing a file of {size / 2**20:,.0f} MiB in {folder}"
    )


def measure(
    folder: Path, jobs: Sequence[str], *, size: int, seconds: float, rounds: int, direct: bool,
    report: Callable[[str], None],
) -> DiskSummary:  # fmt: skip
    """Measure the disk that `folder` is on, with the named jobs.

    A job that fails is not repeated; the others continue. Ctrl-C keeps the complete rounds. Raises
    MbenchError if nothing can be measured.
    """
    check(folder, size=size)
    fio, mount, system = find(), mount_of(folder), describe_system({})
    found: dict[str, list[Round]] = {name: [] for name in jobs}
    ends: dict[str, DiskEnded] = {}
    status = "complete"
    report(f"writing a file of {size / 2**20:,.0f} MiB in {folder}")
    try:
        with temporary_file(folder, size=size, direct=direct) as descriptor:
            for number in range(rounds):
                report(f"round {number + 1} of {rounds}")
                for name in random.Random(number).sample(jobs, len(jobs)):
                    if name in ends:
                        continue
                    try:
                        found[name].append(
                            fio.run(JOBS[name], descriptor, size=size, seconds=seconds,
                                    seed=number + 1, direct=direct)
                        )  # fmt: skip
                    except DiskEnded as end:
                        ends[name] = end
                        report(f"{name}: {end}")
    except KeyboardInterrupt:
        if not any(found.values()):
            raise
        status = "interrupted"
    return DiskSummary(
        schema=SCHEMA,
        status=status,
        folder=str(folder.resolve()),
        mount=mount,
        tool=fio.version,
        direct=direct,
        size_bytes=size,
        seconds=seconds,
        jobs=[summarize(JOBS[name], rounds, ends.get(name)) for name, rounds in found.items()],
        remarks=remarks(mount, found, direct=direct),
        system=system,
    )


def summarize(job: Job, rounds: Sequence[Round], end: DiskEnded | None) -> JobSummary:
    return JobSummary(
        name=job.name,
        block_bytes=job.block_bytes,
        threads=job.threads,
        depth=job.depth,
        read_percent=job.read_percent,
        outcome=end.outcome if end else "ok",
        reason=end.reason if end else None,
        figures={name: figures(rounds, name) for name in job.directions} if rounds else {},
        rounds=rounds,
    )


def figures(rounds: Sequence[Round], direction: str) -> Figures:
    flows = [one.flows[direction] for one in rounds]
    latencies = {
        name: stats.geometric_interval(values)
        for name in RANKS
        if (values := [at for flow in flows if (at := flow.latency_nanoseconds.get(name))])
    }
    return Figures(
        bytes_per_second=stats.geometric_interval([float(one.bytes_per_second) for one in flows]),
        operations_per_second=stats.geometric_interval(
            [one.operations_per_second for one in flows]
        ),
        latency_nanoseconds=latencies,
    )


def remarks(
    mount: Mount | None, found: Mapping[str, Sequence[Round]], *, direct: bool
) -> list[str]:
    """Limitations of the figures."""
    texts = []
    if mount and mount.is_memory:
        texts.append(f"{mount.point} is {mount.kind}: these are figures of memory, not of a disk")
    if not direct:
        texts.append("the page cache was not bypassed: it serves reads of what it holds, and "
                     "buffers writes")  # fmt: skip
    if (share := from_storage(found)) is not None and share < FROM_MEMORY:
        texts.append(f"{100 * share:.0f} % of what was read came from local storage; "
                     "the rest came from memory or over a network")  # fmt: skip
    return texts


def from_storage(found: Mapping[str, Sequence[Round]]) -> float | None:
    """The smallest share of a round's reads from storage, at most 1; None if nothing was read."""
    shares = [
        min(1.0, one.storage_read_bytes / one.flows["read"].bytes)
        for rounds in found.values()
        for one in rounds
        if "read" in one.flows
    ]
    return min(shares, default=None)
