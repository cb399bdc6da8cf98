"""Whether processes have ended."""

from __future__ import annotations

import psutil


def gone(*pids: int) -> bool:
    """All have ended: zombies too. A process may go while it is asked."""
    return not any(map(lives, pids))


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False
