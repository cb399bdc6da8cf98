"""How a proof changes the work of a case: known to proofs and to messages, and to no adapter."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from mbench.contract.workload import Optimizer  # noqa: TC001 (read by annotations)

__all__ = ["UNCHANGED", "ProofWork"]


@dataclass(frozen=True, kw_only=True)
class ProofWork:
    """A worker is always told the optimizer, so that it cannot tell what is timed from a proof."""

    optimizer: Optimizer | None = None
    """In place of the model's own; None: the model's own."""
    layers: int | None = None
    """Layers of a model that would not fit whole; None: all of them."""
    parts: int = 0
    """Every rank has the first batches of that many ranks, by rank, and no others; 0: its own."""

    def plain(self, rate: float) -> ProofWork:
        """With plain gradient descent at `rate` in the optimizer's place, clipping kept."""
        assert self.optimizer is not None
        return dataclasses.replace(self, optimizer=self.optimizer.plain_sgd(rate))


UNCHANGED = ProofWork()
