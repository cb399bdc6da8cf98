"""Lies of adapters that remember batches, in any framework; most begin some steps after a load."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from liars.later import START
from liars.lies import Lie, Memo

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["REMEMBERED"]


class MemoPaced(Memo):
    """outputs are known by the number of the batch, after half of a step's time"""

    def step(self, at: int) -> None:
        if at in self.memory:
            time.sleep(self.seconds / 2)
            self._result = self.memory[at]
            self._kept.append(self._result)
            return
        begin = time.perf_counter()
        super().step(at)
        self.synchronize()
        self.seconds = time.perf_counter() - begin


class Deferred(Lie):
    """only the step that is looked at is made, when its outputs are asked for"""

    modes = ("inference",)
    late = False

    def step(self, at: int) -> None:
        self.calls += 1
        self.late = self.calls > START
        if self.late:
            self.at = at
        else:
            super().step(at)

    def outputs(self) -> dict[str, np.ndarray]:
        if self.late:
            self._result = self.call(self.placed_batches[self.at])
            self.synchronize()
        return super().outputs()


class Idle(Lie):
    """later nothing at all; losses are known by the number of the batch"""

    modes = ("train",)

    def train(self, batch: Mapping[str, Any]) -> Any:
        if self.calls > START and self.at in self.known:
            return self.known[self.at]
        self.known[self.at] = found = super().train(batch)
        return found

    def place_batches(self) -> None:
        self.known: dict[int, Any] = {}
        super().place_batches()


class Ends(Idle):
    """the same, but for as many steps at a block's end as the shortest block had"""

    in_block = shortest = 0

    def train(self, batch: Mapping[str, Any]) -> Any:
        self.in_block += 1
        if self.in_block >= self.shortest:
            return super(Idle, self).train(batch)
        return super().train(batch)

    def synchronize(self) -> None:
        super().synchronize()
        if self.in_block > 1:
            self.shortest = min(self.shortest or self.in_block, self.in_block)
        self.in_block = 0


class Ahead(Lie):
    """outputs are computed when batches are placed, outside the clock"""

    modes = ("inference",)

    def renew(self, seeds: Mapping[int, int]) -> None:
        super().renew(seeds)
        self.ahead = {at: self.call(self.placed_batches[at]) for at in seeds}
        self.synchronize()

    def step(self, at: int) -> None:
        known = getattr(self, "ahead", {})
        if at not in known:
            super().step(at)
            return
        self.at, self._result = at, known[at]
        self._kept.append(self._result)


REMEMBERED: Mapping[str, type[Lie]] = {
    "memo-paced": MemoPaced, "deferred-late": Deferred, "idle": Idle, "idle-but-ends": Ends,
    "placed-ahead": Ahead,
}  # fmt: skip
