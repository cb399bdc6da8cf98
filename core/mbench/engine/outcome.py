"""How a case ends when it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.outcome import OUTCOMES

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.reading import Malformed
    from mbench.errors import MbenchError

__all__ = ["CaseEnded"]


class CaseEnded(Exception):
    """A case is over: its outcome, the reason in one line, and the log with details."""

    def __init__(self, outcome: str, reason: str, *, log: Path | None = None) -> None:
        assert outcome in OUTCOMES, outcome
        super().__init__(f"{outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason
        self.log = log

    @classmethod
    def of(cls, error: CaseEnded | MbenchError | Malformed) -> CaseEnded:
        """`error` as the end of a case: an error of mbench itself counts as its failure."""
        return error if isinstance(error, CaseEnded) else cls("failed", str(error))
