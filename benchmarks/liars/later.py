"""Late forms of lies, in any framework: honest in the first steps after each load."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from liars.batches import BATCHES
from liars.lies import LIES, Lie
from liars.updates import UPDATES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["LATER", "START", "late"]

START = 24
"""Honest steps after a load."""


def late(lie: type[Lie]) -> type[Lie]:
    """The same lie, from the 25th step after a load on."""

    class Late(lie):  # type: ignore[valid-type, misc]
        block = max(lie.block, 0.25)
        start = START
        twins: Mapping[int, tuple[Any, Any]] = MappingProxyType({})
        """A batch as it was placed, and what the lie computes instead, by the former's id."""

        def step(self, at: int) -> None:
            if self.calls < START:
                Lie.step(self, at)
            else:
                super().step(at)

        def train(self, batch: Mapping[str, Any]) -> Any:
            if self.calls > START:
                return super().train(self.false(batch))
            return super(Lie, self).train(batch)

        def infer(self, batch: Mapping[str, Any]) -> Any:
            if self.calls > START:
                return super().infer(self.false(batch))
            return super(Lie, self).infer(batch)

        def false(self, batch: Mapping[str, Any]) -> Mapping[str, Any]:
            """What the lie computes in place of a batch that was placed."""
            _, found = self.twins.get(id(batch), (batch, batch))
            return found

        def placed(self, batch: Mapping[str, np.ndarray]) -> Any:
            found = super(Lie, self).placed(batch)
            if lie.placed is not Lie.placed:
                self.twins = {**self.twins, id(found): (found, super().placed(batch))}
            return found

        def renew(self, seeds: Mapping[int, int]) -> None:
            super().renew(seeds)
            kept = set(map(id, self.placed_batches))
            self.twins = {key: both for key, both in self.twins.items() if key in kept}

        def outputs(self) -> Any:
            return (super() if self.calls > START else super(Lie, self)).outputs()

    Late.__doc__ = f"later, {lie.__doc__}"
    return Late


LASTING = ("unstored", "sleeper")
"""Lies without a late form: one lies in proofs too, and the other is late already."""
FORMS = (
    "second", "seventeenth", "memo", "loss-memo", "lazy", "sketched", "pruned", "low-rank",
    *BATCHES, *(name for name in UPDATES if name not in LASTING),
)  # fmt: skip
"""Lies that have a late form. All others begin when a case is prepared, or are late already."""
LATER: Mapping[str, type[Lie]] = {f"{name}-late": late(LIES[name]) for name in FORMS}
