"""The error that ends a disk's measurement."""

from __future__ import annotations

from mbench.contract.outcome import OUTCOMES
from mbench.errors import MbenchError

__all__ = ["DiskEnded"]


class DiskEnded(MbenchError):
    """A disk, or one of its jobs, cannot be measured; `outcome` and `reason` say why."""

    def __init__(self, outcome: str, reason: str) -> None:
        assert outcome in OUTCOMES, outcome
        super().__init__(f"{outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason
