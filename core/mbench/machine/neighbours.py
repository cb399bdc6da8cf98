"""Finds other mbench processes that measure on this machine, in the kernel's list of processes.

No lock is involved, so this works wherever runs are stored, and waits for nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from mbench.contract.quantities import Number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Neighbour", "neighbours"]

PROCESSES = Path("/proc")
WORKER = b"mbench/worker/bootstrap.py"
MEASURING = {b"calibrate", b"compare", b"disk", b"explain", b"run", b"train"}


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """Another mbench that measured on this machine at the same time."""

    pid: Number
    """Its process id."""
    since: str
    """When it was started: ISO 8601, UTC."""


def neighbours() -> list[Neighbour]:
    """The neighbours of all users, as far as visible, without this process, its descendants and its
    ancestors.
    """
    ours = lineage()
    found = {pid for pid in owners() if pid not in ours and not lineage(pid) & {os.getpid()}}
    return [Neighbour(pid=pid, since=since) for pid in sorted(found) if (since := started(pid))]


def lineage(pid: int | None = None) -> set[int]:
    """A process and all its ancestors."""
    pid = os.getpid() if pid is None else pid
    with suppress(psutil.Error):
        return {pid, *(one.pid for one in psutil.Process(pid).parents())}
    return {pid}


def owners() -> Iterator[int]:
    """Ids of processes that own a worker, or are an mbench command that will start workers."""
    try:
        names = [name for name in os.listdir(PROCESSES) if name.isdigit()]
    except OSError:
        return
    for name in names:
        with suppress(OSError, psutil.Error):
            words = (PROCESSES / name / "cmdline").read_bytes().split(b"\0")
            if any(word.endswith(WORKER) for word in words[:6]):
                owner = psutil.Process(int(name)).ppid()
                if owner > 1:  # not an orphan
                    yield owner
            elif measures(words):
                yield int(name)


def measures(words: Sequence[bytes]) -> bool:
    """Whether `words` are the command line of an mbench command that measures."""
    by_python = b"python" in words[0].rpartition(b"/")[2]
    for at, word in enumerate(words[: 4 if by_python else 1]):
        if word == b"mbench" or word.endswith(b"/mbench"):
            rest = words[at + 1 :]
            return bool(rest) and rest[0] in MEASURING and b"--dry-run" not in rest
    return False


def started(pid: int) -> str:
    """When a process was started; empty if it has ended meanwhile."""
    try:
        moment = psutil.Process(pid).create_time()
    except psutil.Error:
        return ""
    return datetime.fromtimestamp(moment, timezone.utc).isoformat(timespec="seconds")
