"""How a measurement of a disk, or one of its jobs, ends when it does not end well."""

from __future__ import annotations

from mbench.contract.outcome import OUTCOMES
from mbench.errors import MbenchError

__all__ = ["DiskEnded"]


class DiskEnded(MbenchError):
    """Its typed outcome, and the reason in one line."""

    def __init__(self, outcome: str, reason: str) -> None:
        assert outcome in OUTCOMES, outcome
        super().__init__(f"{outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason
