"""Operators that normalize: norms, softmax, and the loss of a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from mbench.contract.workload import Tensor
from mbench.workloads.operators.operator import Kind, Operand
from mbench.workloads.operators.pointwise import Pointwise

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    Arrays = Mapping[str, np.ndarray]

__all__ = ["BatchNorm", "CrossEntropy", "LayerNorm", "Softmax", "softmax"]


@dataclass(frozen=True, kw_only=True)
class BatchNorm(Kind):
    """Normalizes images (n, c, h, w) over all axes but channels. Training uses the batch's own
    statistics, and updates the running ones with 0.1 of each new one.
    """

    kind: ClassVar[str] = "batch_norm"
    dims: ClassVar[tuple[str, ...]] = ("n", "c", "h", "w")
    says: ClassVar[str] = "Batch norm of images"
    proof_sizes: ClassVar[Mapping[str, int]] = {"n": 3, "c": 32, "h": 6, "w": 6}
    epsilon: ClassVar[float] = 1e-5
    momentum: ClassVar[float] = 0.1
    n: int
    c: int
    h: int
    w: int

    def inputs(self) -> list[Operand]:
        return [Operand("x", self.outputs())]

    def weights(self) -> list[Tensor]:
        shape = (self.c,)
        return [
            Tensor("weight", shape, 0.1, 1.0),
            Tensor("bias", shape, 0.1),
            Tensor("running_mean", shape, 0.1, trainable=False),
            Tensor("running_var", shape, 0.1, 1.0, trainable=False),
        ]

    def outputs(self) -> tuple[int, ...]:
        return (self.n, self.c, self.h, self.w)

    def normal(self, x: Arrays, *, training: bool) -> tuple[np.ndarray, np.ndarray]:
        """The normalized images, and what each channel was divided by, (c, 1, 1)."""
        import numpy as np

        axes = (0, 2, 3)
        mean = x["x"].mean(axes) if training else x["running_mean"]
        variance = x["x"].var(axes) if training else x["running_var"]
        spread = np.sqrt(variance + self.epsilon)[:, None, None]
        return (x["x"] - mean[:, None, None]) / spread, spread

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        normal, _ = self.normal(x, training=training)
        return normal * x["weight"][:, None, None] + x["bias"][:, None, None]

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        normal, spread = self.normal(x, training=True)
        return {
            "x": through(direction * x["weight"][:, None, None], normal, (0, 2, 3)) / spread,
            "weight": (direction * normal).sum((0, 2, 3)),
            "bias": direction.sum((0, 2, 3)),
        }


@dataclass(frozen=True, kw_only=True)
class LayerNorm(Kind):
    """Works on each row of x (rows, features) separately."""

    kind: ClassVar[str] = "layer_norm"
    dims: ClassVar[tuple[str, ...]] = ("rows", "features")
    says: ClassVar[str] = "Layer norm"
    proof_sizes: ClassVar[Mapping[str, int]] = {"rows": 6, "features": 96}
    epsilon: ClassVar[float] = 1e-5
    rows: int
    features: int

    def inputs(self) -> list[Operand]:
        return [Operand("x", self.outputs())]

    def weights(self) -> list[Tensor]:
        shape = (self.features,)
        return [Tensor("weight", shape, 0.1, 1.0), Tensor("bias", shape, 0.1)]

    def outputs(self) -> tuple[int, ...]:
        return (self.rows, self.features)

    def normal(self, x: Arrays) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        spread = np.sqrt(x["x"].var(-1, keepdims=True) + self.epsilon)
        return (x["x"] - x["x"].mean(-1, keepdims=True)) / spread, spread

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        normal, _ = self.normal(x)
        return normal * x["weight"] + x["bias"]

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        normal, spread = self.normal(x)
        return {
            "x": through(direction * x["weight"], normal, (-1,)) / spread,
            "weight": (direction * normal).sum(axis=0),
            "bias": direction.sum(axis=0),
        }


def through(direction: np.ndarray, normal: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Gradient through normalizing over `axes` to mean 0 and variance 1, before the division."""
    mean = direction.mean(axes, keepdims=True)
    along = (direction * normal).mean(axes, keepdims=True)
    return direction - mean - normal * along


@dataclass(frozen=True, kw_only=True)
class Softmax(Pointwise):
    """Works on each row of x (rows, features) separately."""

    kind: ClassVar[str] = "softmax"
    says: ClassVar[str] = "Softmax"

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        return softmax(x["x"])

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        shares = softmax(x["x"])
        return {"x": shares * (direction - (direction * shares).sum(axis=-1, keepdims=True))}


def softmax(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    import numpy as np

    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, kw_only=True)
class CrossEntropy(Kind):
    """Softmax and cross entropy of logits x (rows, classes) with a label each; mean over rows."""

    kind: ClassVar[str] = "cross_entropy"
    dims: ClassVar[tuple[str, ...]] = ("rows", "classes")
    says: ClassVar[str] = "Softmax with cross entropy"
    proof_sizes: ClassVar[Mapping[str, int]] = {"rows": 6, "classes": 96}
    rows: int
    classes: int

    def inputs(self) -> list[Operand]:
        return [
            Operand("x", (self.rows, self.classes)),
            Operand("labels", (self.rows,), below=self.classes),
        ]

    def outputs(self) -> tuple[int, ...]:
        return ()

    def forward(self, x: Arrays, *, training: bool) -> np.ndarray:
        import numpy as np

        chosen = softmax(x["x"])[np.arange(self.rows), x["labels"]]
        return np.asarray(-np.log(chosen).mean())

    def backward(self, x: Arrays, direction: np.ndarray) -> dict[str, np.ndarray]:
        import numpy as np

        chances = softmax(x["x"])
        chances[np.arange(self.rows), x["labels"]] -= 1
        return {"x": direction * chances / self.rows}
