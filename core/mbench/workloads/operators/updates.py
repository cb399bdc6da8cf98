"""The optimizer's update as an operator: each call updates a parameter by a given gradient.

It exists in training only. The loss with that gradient is the sum of gradient times parameter. No
step computes this loss. Evidence does, after the step, because it reflects the updates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mbench.contract.workload import Optimizer, Tensor
from mbench.workloads.operators.operator import FLOAT_BYTES, Kind, Operand, Operator

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

__all__ = ["PRECISIONS", "UPDATES", "Update", "Updated", "gradient_of"]

PRECISIONS = ("fp64", "fp32", "bf16", "fp16")
"""Precisions in which parameters are kept; others say how products are computed."""
PROOF_RATE = 4.0
"""Makes updates larger than parameters, so that half precision does not round them away."""
STEPS = 64
"""A gradient's magnitude is a multiple of 1/64 from 1 to 2, exact in every precision."""


@dataclass(frozen=True, kw_only=True)
class Update(Kind):
    """Updates a parameter with `elements` elements."""

    dims: ClassVar[tuple[str, ...]] = ("elements",)
    proof_sizes: ClassVar[Mapping[str, int]] = {"elements": 4096}
    optimizer: ClassVar[Optimizer]
    """Rates are small enough that a few million steps neither carry parameters away nor make weight
    decay matter, and large enough that each step shows in float32."""
    moments: ClassVar[int]
    """How many arrays of the parameter's size are kept from step to step."""

    elements: int

    def inputs(self) -> list[Operand]:
        return [Operand("gradient", (self.elements,))]

    def weights(self) -> list[Tensor]:
        return [Tensor("weight", (self.elements,), 1.0)]

    def outputs(self) -> tuple[int, ...]:
        """Shape of the new parameter."""
        return (self.elements,)


@dataclass(frozen=True, kw_only=True)
class Sgd(Update):
    kind: ClassVar[str] = "sgd"
    says: ClassVar[str] = "Update of a parameter by gradient descent with momentum"
    optimizer: ClassVar[Optimizer] = Optimizer(
        rule="sgd", learning_rate=1e-4, momentum=0.9, weight_decay=1e-4
    )
    moments: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class AdamW(Update):
    kind: ClassVar[str] = "adamw"
    says: ClassVar[str] = "Update of a parameter by AdamW"
    optimizer: ClassVar[Optimizer] = Optimizer(
        rule="adamw", learning_rate=1e-5, weight_decay=1e-2, epsilon=1e-8
    )
    moments: ClassVar[int] = 2


UPDATES: Mapping[str, type[Update]] = {kind.kind: kind for kind in (Sgd, AdamW)}


@dataclass(frozen=True, kw_only=True)
class Updated(Operator):
    """One kind of update at some size."""

    config: Update

    @staticmethod
    def of(operator: Operator) -> Updated:
        """The same operator, with the optimizer of its kind."""
        made: Mapping[str, Any] = vars(operator)
        proof = {**operator.proof, "learning_rate": PROOF_RATE}
        rule = operator.config.optimizer  # type: ignore[attr-defined]
        return Updated(**{**made, "optimizer": rule, "proof": proof})

    def batch(self, size: int, *, seed: int) -> dict[str, np.ndarray]:
        """The gradient of each call, "gradient.0"."""
        import numpy as np

        found = {}
        for call in range(self.config.calls):
            name = f"gradient.{call}"
            drawn = self.drawn(f"data/{seed}/{name}", (self.config.elements,))
            size_of = 1 + np.floor(np.abs(drawn) * STEPS) / STEPS
            found[name] = np.where(drawn < 0, -size_of, size_of).astype(np.float32)
        return found

    def gradients(self, *, seed: int) -> dict[str, np.ndarray]:
        """Gradients in the batch of that seed, by the tensor that they update, float64."""
        batch = self.batch(self.config.calls, seed=seed)
        names = [tensor.name for tensor in self.tensors()]
        return {name: batch[gradient_of(name)].astype(float) for name in names}

    def answers(self, *, seed: int, batch: int) -> dict[str, np.ndarray]:
        """Not defined: updates are compared with their rule, see proofs/changes.py."""
        raise NotImplementedError("an operator that only updates has no outputs")

    def moved_bytes(self, *, training: bool, number_bytes: int = FLOAT_BYTES) -> int | None:
        """Parameter, gradient and moments are read; all but the gradient are written."""
        return number_bytes * self.config.elements * (3 + 2 * self.config.moments)


def gradient_of(tensor: str) -> str:
    """The name in the batch of the gradient for a tensor such as "calls.0.weight"."""
    _, call, _ = tensor.split(".")
    return f"gradient.{call}"
