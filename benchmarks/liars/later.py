"""Late forms of lies, in any framework: honest in the first steps after each load."""

from __future__ import annotations

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


class Batch(dict[str, Any]):
    """A batch as it was asked for, and what the lie computes instead."""

    false: Mapping[str, Any]


def late(lie: type[Lie]) -> type[Lie]:
    """The same lie, from the 25th step after a load on."""

    class Late(lie):  # type: ignore[valid-type, misc]
        block = max(lie.block, 0.25)
        start = START

        def step(self, at: int) -> None:
            if self.calls < START:
                Lie.step(self, at)
            else:
                super().step(at)

        def train(self, batch: Mapping[str, Any]) -> Any:
            if self.calls > START:
                return super().train(getattr(batch, "false", batch))
            return super(Lie, self).train(dict(batch))

        def infer(self, batch: Mapping[str, Any]) -> Any:
            if self.calls > START:
                return super().infer(getattr(batch, "false", batch))
            return super(Lie, self).infer(dict(batch))

        def placed(self, batch: Mapping[str, np.ndarray]) -> Any:
            if lie.placed is Lie.placed:
                return super().placed(batch)
            found = Batch(super(Lie, self).placed(batch))
            found.false = super().placed(batch)
            return found

        def outputs(self) -> Any:
            return (super() if self.calls > START else super(Lie, self)).outputs()

    Late.__doc__ = f"later, {lie.__doc__}"
    return Late


LASTING = ("unstored", "sleeper")
"""Lies in proofs too, and late ones already."""
FORMS = (
    "second", "seventeenth", "memo", "loss-memo", "lazy", "sketched", "pruned", "low-rank",
    *BATCHES, *(name for name in UPDATES if name not in LASTING),
)  # fmt: skip
"""Lies that have a late form; the others are told when a case is prepared, or are late already."""
LATER: Mapping[str, type[Lie]] = {f"{name}-late": late(LIES[name]) for name in FORMS}
