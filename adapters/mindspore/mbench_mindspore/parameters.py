"""The model's tensors by canonical name."""

from __future__ import annotations

import mindspore as ms
import numpy as np
from mindspore import nn

from mbench.sdk.tensors import Native
from mbench_mindspore.layers import DOT, Projection

__all__ = ["Tensor", "named", "placed", "to_numpy"]

NORMS = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "embedding_table": "weight",
}
"""Attributes of MindSpore's layers, with their canonical names."""


class Tensor(Native):
    def assign(self, array: np.ndarray) -> None:
        kind = np.float64 if self.tensor.dtype == ms.float64 else np.float32
        self.tensor.set_data(placed(array.astype(kind)))

    def fetch(self) -> np.ndarray:
        return to_numpy(self.tensor)


def named(model: nn.Cell) -> dict[str, Native]:
    """All parameters and running statistics by canonical name; a tied one appears once."""
    found: dict[str, Native] = {}
    turned = {
        id(cell.weight) for _, cell in model.cells_and_names() if isinstance(cell, Projection)
    }
    for path, tensor in model.parameters_and_names():
        above, _, leaf = path.rpartition(".")
        name = ".".join(filter(None, (above.replace(DOT, "."), NORMS.get(leaf, leaf))))
        axes = (1, 0) if id(tensor) in turned else ()  # kept as (out, in)
        found[name] = Tensor(tensor, tensor.requires_grad, axes)
    return found


def placed(array: np.ndarray) -> ms.Tensor:
    """A copy of `array` as a tensor."""
    return ms.Tensor(np.array(array, order="C"))


def to_numpy(tensor: ms.Tensor) -> np.ndarray:
    """A copy in float32, or in float64 if `tensor` is float64."""
    kind = np.float64 if tensor.dtype == ms.float64 else np.float32
    return np.array(tensor.asnumpy(), kind)
