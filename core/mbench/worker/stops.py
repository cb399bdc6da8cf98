"""Counts how often this process was continued: if a signal stopped it, another continues it."""

from __future__ import annotations

import signal
import threading

__all__ = ["continued", "count_stops"]

_continued = 0


def continued() -> int:
    """How often so far, by mbench or by others. Several times within one call into C count once."""
    return _continued


def count_stops() -> None:
    """Count from now on; system calls that the signal interrupts are restarted."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGCONT, note)
        signal.siginterrupt(signal.SIGCONT, False)


def note(number: int, frame: object) -> None:
    global _continued
    _continued += 1
