"""How a case ends when it does not end well."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.errors import MbenchError

__all__ = ["OUTCOMES", "CaseEnded"]

OUTCOMES = {
    "ok": "measured",
    "unsupported": "the framework, its build or the device cannot do it",
    "oom": "out of memory",
    "timeout": "no answer within the time limit, or no round within the budget",
    "crashed": "the worker's process ended by itself",
    "failed": "the framework or its environment raised an error",
    "not-equal": "the work is not that of the reference, so it was not compared",
}


class CaseEnded(Exception):
    """A case is over: its typed outcome, the reason in one line, and the log that tells more."""

    def __init__(self, outcome: str, reason: str, *, log: Path | None = None) -> None:
        assert outcome in OUTCOMES, outcome
        super().__init__(f"{outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason
        self.log = log

    @classmethod
    def of(cls, error: CaseEnded | MbenchError) -> CaseEnded:
        """`error` as the end of a case: what mbench refuses is a failure of that case."""
        return error if isinstance(error, CaseEnded) else cls("failed", str(error))
