"""The part of a prepared case that handles learning: batches and rates from the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from mbench.contract.tensors import Tensor
    from mbench.sdk.optimizer import UpdateBase

__all__ = ["Learning"]


class Learning:
    """What is the same everywhere; an adapter only implements `UpdateBase.set_learning_rate`."""

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
        """Give one batch these contents, in the same shapes. Labels may be shares of classes (B, K)
        instead of class numbers (B,); then they must be shares in all later calls too.
        """
        self.soft = "labels" in batch and batch["labels"].dtype.kind == "f"
        self.placed_batches[at : at + 1] = [self.placed(batch)]
        self.batch = self.placed_batches[0]
        self.renewed()

    def set_learning_rate(self, rate: float) -> None:
        """Set the rate of all later steps; raises Unsupported if the adapter cannot change it."""
        self.update.set_learning_rate(rate)
