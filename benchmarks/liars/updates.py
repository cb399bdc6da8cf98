"""Lies about what a step changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from liars.lie import Lie

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["UPDATES"]


class Putting(Lie):
    """Puts back what tensors held before a step."""

    modes = ("train",)

    def held(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Copies: a step may update in place what is read."""
        natives = self.natives()
        return {name: np.array(natives[name].read()) for name in names}

    def put(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Into the tensors of now: a step may have replaced those of before."""
        natives = self.natives()
        for name, array in arrays.items():
            natives[name].write(array)

    def scale(self, before: Mapping[str, np.ndarray], factor: float) -> None:
        """Scale what a step has changed."""
        now = self.held(before)
        self.put({name: array + factor * (now[name] - array) for name, array in before.items()})


class Unstored(Putting):
    """updates are computed, but not stored; in proofs, too"""

    proof_too = True

    def spared(self) -> Iterable[str]:
        """Names of the tensors that a step leaves as they were."""
        return self.update.parameters

    def train(self, batch: Mapping[str, Any]) -> Any:
        kept = self.held(self.spared())
        found = super().train(batch)
        self.synchronize()
        self.put(kept)
        return found


class TimedUnstored(Unstored):
    """updates are computed, but not stored, where it is timed"""

    proof_too = False


class Below(TimedUnstored):
    """no gradient below a layer"""

    def spared(self) -> Iterable[str]:
        return [
            name for name in self.update.parameters if name.startswith(("conv1", "bn1", "layer1"))
        ]


class OneLayer(TimedUnstored):
    """the classifier is not updated"""

    def spared(self) -> Iterable[str]:
        return ["fc.weight"]


class Frozen(TimedUnstored):
    """parameters of the last stage are not updated"""

    def spared(self) -> Iterable[str]:
        return [name for name in self.update.parameters if name.startswith("layer4")]


class SecondUpdate(TimedUnstored):
    """every second update is left out"""

    def spared(self) -> Iterable[str]:
        return self.update.parameters if self.twice() else ()


class Statistics(TimedUnstored):
    """running statistics are not updated"""

    def spared(self) -> Iterable[str]:
        return [name for name, native in self.natives().items() if not native.trainable]


class FrozenNorm(TimedUnstored):
    """scales and shifts of batch norm are not updated"""

    def spared(self) -> Iterable[str]:
        return [name for name in self.update.parameters if "bn" in name or "downsample.1" in name]


class Sleeper(TimedUnstored):
    """no update after the 16 steps whose changes are looked at"""

    def spared(self) -> Iterable[str]:
        return self.update.parameters if self.calls > 16 else ()


class Gathered(TimedUnstored):
    """updates are gathered, and every second step makes two"""

    every = 2

    def spared(self) -> Iterable[str]:
        return self.update.parameters if self.calls % self.every else ()

    def train(self, batch: Mapping[str, Any]) -> Any:
        before = self.held(self.update.parameters)
        found = super().train(batch)
        self.synchronize()
        if not self.calls % self.every:
            self.scale(before, self.every)
        return found


class Unmoved(Putting):
    """Puts back some of what a step has changed."""

    share = 0.0
    """The share of each tensor's change that is kept."""

    def spared(self) -> Iterable[str]:
        return self.update.parameters

    def train(self, batch: Mapping[str, Any]) -> Any:
        before = self.held(self.spared())
        found = super().train(batch)
        self.synchronize()
        self.scale(before, self.share)
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


UPDATES: Mapping[str, type[Lie]] = {
    "unstored": Unstored, "timed-unstored": TimedUnstored, "below": Below, "one-layer": OneLayer,
    "frozen": Frozen, "second-update": SecondUpdate, "statistics": Statistics,
    "frozen-norm": FrozenNorm, "sleeper": Sleeper, "gathered": Gathered, "fourth": Fourth,
    "half-change": HalfChange, "tenth-more": TenthMore, "third-update": ThirdUpdate,
    "first-half": FirstHalf,
}  # fmt: skip
