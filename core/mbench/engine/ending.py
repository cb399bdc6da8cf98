"""How a process of this machine ends: when, by what, and with which last words."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["end_of", "ending", "has_ended", "last_line", "last_words"]

LAST_BYTES = 4096


def end_of(pid: int) -> int | None:
    """A descriptor that tells when a process ends, where the system has such a thing."""
    with contextlib.suppress(AttributeError, OSError):
        return os.pidfd_open(pid)
    return None


def has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return True


def ending(code: int) -> str:
    """How a process ended, by what its parent was told."""
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # those of real time have none
        name = f"signal {-code}"
    by = ", perhaps by the system for want of memory" if code == -signal.SIGKILL else ""
    return f"was killed by {name}{by}"


def last_words(log: Path) -> str:
    """The end of a log, which may be longer than memory; empty where there is none."""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
        return file.read(LAST_BYTES).decode(errors="replace")
    return ""


def last_line(log: Path) -> str:
    """The last line that a worker wrote, shortened; empty if it wrote none."""
    lines = last_words(log).strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""
