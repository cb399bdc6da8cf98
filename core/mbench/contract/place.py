"""Where one process stands among those that work on a case together."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALONE", "Place"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """One of `ranks` processes."""

    rank: int = 0
    ranks: int = 1
    local_rank: int = 0
    """Which of its machine's devices is its own."""
    meet: str = ""
    """Where the framework's own rendezvous is, "host:port"; empty where nobody is to meet."""


ALONE = Place()
