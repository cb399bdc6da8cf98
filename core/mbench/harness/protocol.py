"""The constants by which a comparison is measured."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Protocol"]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How long and how often.

    processes: sets of fresh workers; the unit of replication, so the interval is built over them.
    rounds: blocks per worker; None fills the budget, between fewest_rounds and most_rounds.
    budget_seconds: of one comparison, starting and warming up included.
    block_seconds: length of a block between two synchronisations, at least one step.
    timeout_seconds: longest wait for any one answer of a worker.
    """

    processes: int = 5
    rounds: int | None = None
    budget_seconds: float = 180.0
    block_seconds: float = 1.0
    timeout_seconds: float = 900.0
    seed: int = 0
    fewest_rounds: int = 3
    most_rounds: int = 10

    def rounds_for(self, *, setup_seconds: float, round_seconds: float) -> int:
        """How many rounds a set of workers gets, given what setting it up took."""
        if self.rounds is not None:
            return self.rounds
        share = self.budget_seconds / self.processes - setup_seconds
        return max(self.fewest_rounds, min(self.most_rounds, int(share / round_seconds)))
