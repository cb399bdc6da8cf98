"""Late forms of lies, in any framework: honest in the first steps after each load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from liars.lies import LIES, Gathered, Lie

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["LATER", "OTHERS", "START", "late"]

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


class Unmoved(Lie):
    """Puts back some of what a step has changed."""

    modes = ("train",)
    share = 0.0
    """Of the change of each tensor that is kept."""

    def spared(self) -> Iterable[str]:
        return self.update.parameters

    def train(self, batch: Mapping[str, Any]) -> Any:
        before = {name: self.natives()[name].read() for name in self.spared()}
        found = super().train(batch)
        self.synchronize()
        for name, array in before.items():
            native = self.natives()[name]
            native.write(array + self.share * (native.read() - array))
        return found


class HalfChange(Unmoved):
    """half of each update"""

    share = 0.5


class TenthMore(Unmoved):
    """updates are larger by a tenth"""

    share = 1.1


class ThirdUpdate(Unmoved):
    """every third update is left out"""

    def spared(self) -> Iterable[str]:
        return () if self.calls % 3 else self.update.parameters


class Fourth(Gathered):
    """updates are gathered, and every fourth step makes four"""

    every = 4


class FirstHalf(Unmoved):
    """the first half of all parameters stays where it is"""

    def spared(self) -> Iterable[str]:
        names = list(self.update.parameters)
        return names[: len(names) // 2]


class Rolled(Lie):
    """each sample has the labels of the one before"""

    modes = ("train",)

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        labels = batch["labels"]
        return super().placed({**batch, "labels": labels[[-1, *range(len(labels) - 1)]]})


class Repeated(Lie):
    """the first sample in place of all others"""

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        return super().placed({name: one[[0] * len(one)] for name, one in batch.items()})


class Mirrored(Lie):
    """images are mirrored"""

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Any]:
        images = np.ascontiguousarray(batch["images"][..., ::-1])
        return super().placed({**batch, "images": images})


OTHERS: Mapping[str, type[Lie]] = {
    "fourth": Fourth, "half-change": HalfChange, "tenth-more": TenthMore,
    "third-update": ThirdUpdate, "first-half": FirstHalf, "rolled": Rolled, "repeated": Repeated,
    "mirrored": Mirrored,
}  # fmt: skip
FORMS = (
    "half", "second", "seventeenth", "neighbour", "one-batch", "memo", "loss-memo", "lazy",
    "timed-unstored", "below", "one-layer", "frozen", "second-update", "statistics", "frozen-norm",
    "gathered", "small", "unlabelled", "truncated", "copied", "gray", "sketched", "pruned",
    "low-rank",
)  # fmt: skip
"""Lies that have a late form; the others are told when a case is prepared, or are late already."""
LATER: Mapping[str, type[Lie]] = {
    f"{name}-late": late(lie)
    for name, lie in {**{name: LIES[name] for name in FORMS}, **OTHERS}.items()
}
