"""How a process on this machine ended: when, why, and the end of its log."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

import psutil

from mbench.files import opened

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CUT", "bound", "end_of", "ending", "has_ended", "last_line", "last_words"]

LAST_BYTES = 4096
LAST_LINE = 200
MOST_BYTES = 2**26
"""Limit of one log. A process that only writes adds a few hundred MiB between two checks."""
KEPT_BYTES = 2**20
CUT = "\n[mbench: the log was too long; its middle was removed]\n"


def end_of(pid: int) -> int | None:
    """A descriptor that becomes readable when a process ends; None if the system provides none."""
    with contextlib.suppress(AttributeError, OSError):
        return os.pidfd_open(pid)
    return None


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True


def ending(code: int) -> str:
    """How a process ended, by its exit code."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # real-time signals have no names
        name = f"signal {-code}"
    by = ", perhaps by the system for lack of memory" if code == -signal.SIGKILL else ""
    return f"was killed by {name}{by}"


def last_words(log: Path) -> str:
    """The end of a log, which may be longer than memory; empty if there is no log."""
    with contextlib.suppress(OSError), opened(log) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
        return file.read(LAST_BYTES).decode(errors="replace")
    return ""


def last_line(log: Path) -> str:
    """The last line of a log, without its middle if it is long; empty if there is no line."""
    lines = last_words(log).strip().splitlines()
    line = lines[-1].strip() if lines else ""
    return line if len(line) <= LAST_LINE else f"{line[:-100][: LAST_LINE - 105]} ... {line[-100:]}"


def bound(log: Path) -> None:
    """Remove the middle of a log that is too long; keep its beginning and end."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > MOST_BYTES:
            end = last_words(log)
            os.truncate(log, KEPT_BYTES)
            with log.open("ab") as file:  # appends, like the log's writers, which continue after it
                file.write(f"{CUT}{end}".encode())
