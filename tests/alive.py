"""Whether processes have ended."""

from __future__ import annotations

import psutil


def gone(*pids: int) -> bool:
    """Whether all these processes have ended; a zombie counts as ended."""
    return not any(map(lives, pids))


def lives(pid: int) -> bool:
    """Whether a process has not ended; it may vanish while it is queried."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
