"""The part of a prepared case by which it learns: batches and rates that the core gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from mbench.contract.tensors import Tensor
    from mbench.sdk.optimizer import UpdateBase

__all__ = ["Learning"]


class Learning:
    """What is the same everywhere; an adapter writes down `UpdateBase.set_learning_rate` alone."""

    update: UpdateBase
    soft = False
    """Whether labels are shares of classes."""
    placed_batches: list[Tensor]
    batch: dict[str, Tensor]

    def placed(self, batch: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
        raise NotImplementedError(f"{type(self).__name__} must place batches")

    def renewed(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} must take over batches")

    def feed(self, at: int, batch: Mapping[str, np.ndarray]) -> None:
        """Give one of the batches these contents, of its shapes. Labels may be shares of classes
        (B, K) instead of their numbers (B,): then all that it is given from now on are.
        """
        self.soft = "labels" in batch and batch["labels"].dtype.kind == "f"
        self.placed_batches[at : at + 1] = [self.placed(batch)]
        self.batch = self.placed_batches[0]
        self.renewed()

    def set_learning_rate(self, rate: float) -> None:
        """Of the steps from now on; raises Unsupported."""
        self.update.set_learning_rate(rate)
