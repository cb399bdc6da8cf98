"""The steps of a case as they are timed: its batches in turn, counted since it was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.wire import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from mbench.contract.scenario import Steps
    from mbench.contract.wire import Renew

__all__ = ["BatchCycler"]


class BatchCycler:
    """Consecutive steps get different batches, so a cached result would be wrong."""

    depth = 0
    """Number of batches that an input pipeline prefetches."""
    differences: Sequence[str] = ()
    """What an input pipeline does its own way."""

    def __init__(self, steps: Steps) -> None:
        self.prepared = steps
        self.run = steps.run
        self.batches = steps.batches
        self.synchronize = steps.synchronize
        self.steps = 0
        """Steps since parameters were loaded."""
        self.batch = 0
        """Number of the last step's batch."""
        self.next_batch = 0
        self.began: dict[str, np.ndarray] = {}
        """Parameters as loaded, thinned, by name, as far as they have been looked at."""
        self.contents: dict[int, int] = {}
        """The number of the contents of each renewed batch, by batch number."""

    def close(self) -> None:
        """Shut down the source of the steps' batches."""

    def loaded(self) -> None:
        """Note that parameters were loaded."""
        self.steps = self.next_batch = 0
        self.began.clear()

    def observed(self, steps: int) -> None:
        """Note that `steps` steps ran elsewhere since parameters were loaded."""
        self.steps = steps
        self.next_batch = steps % self.batches

    def step(self) -> None:
        self.batch = self.next_batch
        self.next_batch = (self.batch + 1) % self.batches
        self.steps += 1
        self.run(self.batch)

    def renew(self, request: Renew) -> None:
        """See wire.Renew. Contents that are already there are not drawn again."""
        slots, wanted = request.slots, {}
        chunk = request.first // request.chunk
        for position in range(request.first, request.first + min(request.count, slots)):
            seed = request.seeds[position // request.chunk - chunk]
            slot = position % slots
            wanted[slot] = seed * NUMBERS + (slot if not request.twice else first_of(slot, slots))
        wanted = {at: one for at, one in wanted.items() if self.contents.get(at) != one}
        benchmark = self.prepared.benchmark
        missing = range(len(benchmark.placed_batches), max(wanted, default=0))
        if wanted:
            filled = {at: request.seeds[0] * NUMBERS + at for at in missing}
            benchmark.renew({**filled, **wanted})
            self.contents.update({**filled, **wanted})
        self.batches = slots
        self.next_batch = request.first % slots

    def restore(self) -> None:
        """Give renewed batches their first contents again."""
        if self.contents:
            self.prepared.benchmark.renew({})
            self.contents.clear()
            self.batches = self.prepared.batches

    def number(self, back: int = 0) -> int:
        """The number of the contents of the batch used `back` steps before the last one, or the
        batch's own number if it was not renewed.
        """
        slot = (self.batch - back) % self.batches
        return self.contents.get(slot, slot)


def first_of(slot: int, slots: int) -> int:
    """The batch whose contents `slot` has: one in sixteen, or in eight, repeats earlier ones."""
    every = 16 if slots >= 16 else 8
    return slot - every // 2 if slot % every == every - 1 else slot
