"""The steps of a case as they are timed: its batches in turn, counted since it was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from mbench.contract.scenario import Steps

__all__ = ["BatchCycler"]


class BatchCycler:
    """Consecutive steps get different batches, so a result that was kept would be wrong."""

    def __init__(self, steps: Steps) -> None:
        self.prepared = steps
        self.run = steps.run
        self.batches = steps.batches
        self.synchronize = steps.synchronize
        self.steps = 0
        """Since parameters were loaded."""
        self.batch = 0
        """Number of the last step's batch."""
        self.next_batch = 0
        self.began: dict[str, np.ndarray] = {}
        """What looks have needed so far of the parameters as they were loaded, thinned."""

    def loaded(self) -> None:
        """Parameters were loaded."""
        self.steps = self.next_batch = 0
        self.began.clear()

    def observed(self, steps: int) -> None:
        """`steps` steps ran elsewhere since parameters were loaded."""
        self.steps = steps
        self.next_batch = steps % self.batches

    def step(self) -> None:
        self.batch = self.next_batch
        self.next_batch = (self.batch + 1) % self.batches
        self.steps += 1
        self.run(self.batch)
