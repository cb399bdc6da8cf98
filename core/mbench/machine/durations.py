"""Remembers how long rarely done work took here, to predict its duration the next time."""

from __future__ import annotations

import contextlib
import hashlib
import math
import socket
from typing import TYPE_CHECKING

from mbench.console import span
from mbench.files import Unreadable, small_text, write_whole

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["foretold", "keep", "last"]


def place(folder: Path, what: str) -> Path:
    """The file for some work on this machine, in a folder that several machines may share."""
    digest = hashlib.sha256(f"{socket.gethostname()}\n{what}".encode()).hexdigest()
    return folder / f"{digest[:24]}.seconds"


def keep(folder: Path, what: str, seconds: float) -> None:
    """Remember `seconds` as the latest duration, if that can be written."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(place(folder, what), f"{seconds:.3f}\n".encode())


def last(folder: Path, what: str) -> float | None:
    """Seconds that the work took the last time; None if unknown."""
    try:
        seconds = float(small_text(place(folder, what)))
    except (OSError, Unreadable, ValueError):
        return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None


def foretold(folder: Path, what: str) -> str:
    """The expected duration, in words."""
    seconds = last(folder, what)
    return f"about {span(seconds)}, as last time" if seconds else "not timed on this machine yet"
