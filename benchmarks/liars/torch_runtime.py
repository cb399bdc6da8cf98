"""PyTorch, lying."""

from __future__ import annotations

import torch

from liars.runtime import lying
from mbench_pytorch.runtime import Benchmark
from mbench_pytorch.runtime import Runtime as Honest

__all__ = ["Runtime"]


class Open(Benchmark):
    """What lies ask a framework for."""

    def judge_only(self) -> None:
        """Normalize as in inference."""
        self.model.eval()

    def coarsen_state(self) -> None:
        """Keep of the optimizer's state what bfloat16 holds."""
        for state in self.update._optimizer.state.values():
            for kept in state.values():
                if torch.is_tensor(kept) and kept.ndim:
                    kept.copy_(kept.bfloat16())


Honest.benchmark = Open
Runtime = lying(Honest)
