"""Conducts the rounds of all jobs, and makes the document that reports show."""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.machine.disk.fio import RANKS, find
from mbench.machine.disk.jobs import JOBS
from mbench.machine.disk.outcome import DiskEnded
from mbench.machine.disk.test_file import check, laid, mount_of
from mbench.machine.system import describe_system

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mbench.machine.disk.fio import Round
    from mbench.machine.disk.jobs import Job
    from mbench.machine.disk.test_file import Mount

__all__ = ["SCHEMA", "measure"]

SCHEMA = 1
FROM_MEMORY = 0.9
"""Below this share of the bytes that were read, something other than storage answered."""


def measure(
    folder: Path, jobs: Sequence[str], *, size: int, seconds: float, rounds: int, direct: bool,
    report: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    """The document of a disk: raw values of each round, and figures over them.

    A job that falls short is not tried again, and the others go on. Ctrl-C ends it with the rounds
    that there are. Raises MbenchError where nothing can be measured.
    """
    check(folder, size=size)
    fio, mount, system = find(), mount_of(folder), describe_system({})
    found: dict[str, list[Round]] = {name: [] for name in jobs}
    ends: dict[str, DiskEnded] = {}
    status = "complete"
    report(f"writing a file of {size / 2**20:,.0f} MiB in {folder}")
    try:
        with laid(folder, size=size, direct=direct) as descriptor:
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
    return {
        "schema": SCHEMA,
        "status": status,
        "folder": str(folder.resolve()),
        "mount": asdict(mount) if mount else None,
        "tool": fio.version,
        "direct": direct,
        "size_bytes": size,
        "seconds": seconds,
        "jobs": [tell_job(JOBS[name], rounds, ends.get(name)) for name, rounds in found.items()],
        "remarks": remarks(mount, found, direct=direct),
        "system": asdict(system),
    }


def tell_job(job: Job, rounds: Sequence[Round], end: DiskEnded | None) -> dict[str, Any]:
    return {
        "name": job.name,
        "block_bytes": job.block_bytes,
        "threads": job.threads,
        "depth": job.depth,
        "read_percent": job.read_percent,
        "outcome": end.outcome if end else "ok",
        "reason": end.reason if end else None,
        "figures": {name: figures(rounds, name) for name in job.directions} if rounds else {},
        "rounds": [asdict(one) for one in rounds],
    }


def figures(rounds: Sequence[Round], direction: str) -> dict[str, Any]:
    """Of each quantity the centre over rounds with its interval."""
    flows = [one.flows[direction] for one in rounds]
    latencies = {
        name: asdict(stats.geometric_interval(values))
        for name in RANKS
        if (values := [at for flow in flows if (at := flow.latency_nanoseconds.get(name))])
    }
    return {
        "bytes_per_second": asdict(
            stats.geometric_interval([float(flow.bytes_per_second) for flow in flows])
        ),
        "operations_per_second": asdict(
            stats.geometric_interval([flow.operations_per_second for flow in flows])
        ),
        "latency_nanoseconds": latencies,
    }


def remarks(mount: Mount | None, found: dict[str, list[Round]], *, direct: bool) -> list[str]:
    """What these figures are not."""
    said = []
    if mount and mount.is_memory:
        said.append(f"{mount.point} is {mount.kind}: these are figures of memory, of no disk")
    if not direct:
        said.append("the page cache was not passed by: memory answers what it holds, and takes "
                    "writes that reach the disk later")  # fmt: skip
    if (share := from_storage(found)) is not None and share < FROM_MEMORY:
        said.append(f"the kernel fetched {100 * share:.0f} % of what was read from storage that it "
                    "knows as such; the rest came from memory, or from over a network")  # fmt: skip
    return said


def from_storage(found: dict[str, list[Round]]) -> float | None:
    """The least share in any round, 1 at most; None where nothing was read."""
    shares = [
        min(1.0, one.storage_read_bytes / one.flows["read"].bytes)
        for rounds in found.values()
        for one in rounds
        if "read" in one.flows
    ]
    return min(shares, default=None)
