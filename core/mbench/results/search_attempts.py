"""What is kept of one value that a search tried."""

from __future__ import annotations

from dataclasses import dataclass, field

from mbench.contract.quantities import Bytes, Seconds
from mbench.contract.reading import Malformed

__all__ = ["Tried"]


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One value of a search, tried in workers of its own."""

    value: int | str
    """Batch size or compiler."""
    outcome: str = "ok"
    """How it ended, in a word."""
    reason: str = ""
    """Why the outcome is not "ok"."""
    step_seconds: Seconds | None = None
    """Duration of a step, roughly, or the mean of `processes`; None where it did not run."""
    peak_bytes: Bytes | None = None
    """Most memory in use; None where it did not run, or its framework does not tell."""
    processes: list[Seconds] = field(default_factory=list)
    """Duration of a step in each fresh process, where values took turns."""

    def __post_init__(self) -> None:
        if self.outcome == "ok" and self.step_seconds is None:
            raise Malformed(f"{self.value!r:.60} was tried well, without a time")
