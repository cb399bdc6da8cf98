"""A model whose gradients are given: one linear layer, and a loss that weighs its outputs.

The loss is the mean over the batch of sum_k d_k (W x + b)_k. For one sample, the gradient of W is
d x' and that of b is d: numbers with few bits, which are exact in every precision. Only the
optimizer's own arithmetic can differ. Shapes: B batch, N inputs, K outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract.workload import Optimizer, Tensor, Workload

if TYPE_CHECKING:
    import numpy as np

__all__ = ["GIVEN", "REFERENCE", "GivenConfig", "GivenWorkload"]

REFERENCE = "mbench.workloads.given:GIVEN"
"""The workload reference of a case that runs GIVEN."""


@dataclass(frozen=True, kw_only=True)
class GivenConfig:
    """Dimensions of the layer."""

    inputs: int = 48
    outputs: int = 32

    def without_dropout(self) -> GivenConfig:
        return self


@dataclass(frozen=True, kw_only=True)
class GivenWorkload(Workload):
    """In proofs, its optimizer is that of the model it stands in for."""

    config: GivenConfig

    def tensors(self) -> list[Tensor]:
        return [
            Tensor("linear.weight", (self.config.outputs, self.config.inputs), 1.0),
            Tensor("linear.bias", (self.config.outputs,), 1.0, decay=False),
        ]

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """signed float32: inputs (B, N), odd sixteenths below 8; directions (B, K), powers of 2."""
        import numpy as np

        from mbench.contract import generator

        key = f"data/{seed}"
        inputs = generator.integers(f"{key}/inputs", (size, self.config.inputs), below=128)
        signs = generator.signs(f"{key}/signs", size * self.config.outputs)
        powers = generator.integers(f"{key}/powers", (size, self.config.outputs), below=4)
        return {
            "inputs": ((2 * inputs - 127) / 16).astype(np.float32),
            "directions": (signs.reshape(powers.shape) / 2.0 ** (3 + powers)).astype(np.float32),
        }

    def gradients(self, *, seed: int) -> dict[str, np.ndarray]:
        """Gradients of the loss of a batch of one, by tensor, float64."""
        import numpy as np

        batch = self.batch(1, seed=seed)
        direction, inputs = (batch[name][0].astype(float) for name in ("directions", "inputs"))
        return {"linear.weight": np.outer(direction, inputs), "linear.bias": direction}

    def forward_flops(self) -> float:
        return 2.0 * self.config.inputs * self.config.outputs


GIVEN = GivenWorkload(
    name="given",
    title="Given gradients",
    family="given",
    samples="samples",
    batch_sizes={"cpu": 1, "cuda": 1},
    config=GivenConfig(),
    proof={"batch_size": 1},
    optimizer=Optimizer(rule="sgd", learning_rate=0.25),
)
