"""Lies that begin late: honest in all the steps whose direction was once checked, and then not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from liars.later import LATER, START
from liars.lies import LIES, Lie
from liars.remembered import REMEMBERED
from liars.unfair import UNFAIR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

__all__ = ["ALL", "HONEST", "LATE", "TOLD"]


class Late(Lie):
    """Lies from the 25th step after a load on, in PyTorch only."""

    modes = ("train",)
    frameworks = ("torch",)
    block = 0.25
    start = START

    def load_parameters(self, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
        super().load_parameters(arrays)
        self.gradients: dict[int, dict[str, Any]] = {}
        """For each batch, those of its last honest step."""
        self.told: dict[int, list[tuple[int, Any]]] = {}
        """For each batch, the number and the loss of each honest step."""
        self.wake()

    def wake(self) -> None:
        """Undo what was changed for the lie."""

    def train(self, batch: Mapping[str, Any]) -> Any:
        if self.calls > self.start:
            return self.lie(batch)
        found = self.honestly(batch)
        self.remember(found)
        return found

    def honestly(self, batch: Mapping[str, Any]) -> Any:
        return super().train(batch)

    def remember(self, loss: Any) -> None:
        self.told.setdefault(self.at, []).append((self.calls, loss))
        if self.calls > self.start - self.batches:
            self.gradients[self.at] = self.gradients_left()

    def lie(self, batch: Mapping[str, Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must lie")

    def remembered(self) -> dict[str, Any]:
        """The gradients of this batch, or of another if there are none of this one."""
        return self.gradients.get(self.at) or next(iter(self.gradients.values()))

    def foretold(self) -> Any:
        """The loss of this batch, extrapolated from its honest ones."""
        known = self.told.get(self.at) or next(iter(self.told.values()))
        (before, first), (after, last) = known[0], known[-1]
        slope = (last - first) / max(after - before, 1)
        return last + slope * (self.calls - after)


class LastLayer(Late):
    """later, no backward pass below the classifier, whose gradients of before move the rest"""

    def lie(self, batch: Mapping[str, Any]) -> Any:
        names = list(self.update.parameters)[-2:]
        loss, fresh = self.differentiated(batch, names)
        self.update_by({**self.remembered(), **fresh})
        return loss


class TrunkReuse(Late):
    """later, gradients and losses of before serve in every second turn of the batches"""

    def lie(self, batch: Mapping[str, Any]) -> Any:
        if self.calls // self.batches % 2:
            found = self.honestly(batch)
            self.told.setdefault(self.at, []).append((self.calls, found))
            self.gradients[self.at] = self.gradients_left()
            return found
        self.update_by(self.remembered())
        return self.foretold()


class Replay(Late):
    """later, gradients and losses of before serve in every step"""

    def lie(self, batch: Mapping[str, Any]) -> Any:
        self.update_by(self.remembered())
        return self.foretold()


class GatherLate(Late):
    """later, every fourth step makes one update by the sum of four gradients"""

    def lie(self, batch: Mapping[str, Any]) -> Any:
        return self.accumulated(batch, zero=self.calls % 4 == 1, update=self.calls % 4 == 0)


class SkipBlock(Late):
    """later, the last block is left out, and gradients of before move its parameters"""

    def prefix(self) -> str:
        names = [name for name in self.update.parameters if name.startswith("layer4.1.")]
        return "layer4.1." if names else "bert.encoder.layer.1."

    def wake(self) -> None:
        self.bypass(self.prefix()[:-1], False)

    def lie(self, batch: Mapping[str, Any]) -> Any:
        self.bypass(self.prefix()[:-1], True)
        names = [name for name in self.update.parameters if not name.startswith(self.prefix())]
        loss, fresh = self.differentiated(batch, names)
        self.update_by({**self.remembered(), **fresh})
        return loss


class ConstantNorm(Late):
    """later, batch norm by its running statistics"""

    def wake(self) -> None:
        self.judge(False)

    def lie(self, batch: Mapping[str, Any]) -> Any:
        self.judge(True)
        return self.honestly(batch)


class SleeperLate(Late):
    """later, no backward pass and no update"""

    def lie(self, batch: Mapping[str, Any]) -> Any:
        return self.only_forward(batch)


class NoMomentumLate(Late):
    """later, no momentum, and ten times the rate"""

    def wake(self) -> None:
        self.set_momentum(False)

    def lie(self, batch: Mapping[str, Any]) -> Any:
        self.set_momentum(True)
        return self.honestly(batch)


LATE: Mapping[str, type[Lie]] = {
    **LATER, **REMEMBERED,
    "last-layer-late": LastLayer, "trunk-reuse": TrunkReuse, "replay": Replay,
    "gather-late": GatherLate, "skip-block-late": SkipBlock, "bn-const": ConstantNorm,
    "sleeper-late": SleeperLate, "no-momentum-late": NoMomentumLate,
}  # fmt: skip


class Seeded(Lie):
    """honest: another seed of the framework's own"""

    def prepare_training(self) -> None:
        super().prepare_training()
        self.seed_again(1234)


class ChannelsLast(Lie):
    """honest: channels last"""

    def build(self) -> Any:
        return self.with_channels_last(super().build())


class OwnOptimizer(Lie):
    """honest: an optimizer of its own, in another order of operations"""

    def prepare_training(self) -> None:
        super().prepare_training()
        self.order_otherwise()


class TwoThreads(Lie):
    """honest: two threads"""

    def prepare_training(self) -> None:
        super().prepare_training()
        self.set_threads(2)


class Fused(Lie):
    """honest: a fused optimizer"""

    def prepare_training(self) -> None:
        super().prepare_training()
        self.fuse()


HONEST: Mapping[str, type[Lie]] = {
    "none": Lie, "seeded": Seeded, "channels-last": ChannelsLast, "own-optimizer": OwnOptimizer,
    "two-threads": TwoThreads, "fused": Fused,
}  # fmt: skip
TOLD: Mapping[str, type[Lie]] = {**LIES, **LATE, **UNFAIR}
ALL: Mapping[str, type[Lie]] = {**TOLD, **HONEST}
