"""The model's tensors by canonical name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import megengine as mge
import numpy as np
from megengine import module as M

from mbench.sdk import tensors
from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Tensor", "named", "placed", "to_numpy"]


@dataclass(frozen=True, eq=False)
class Tensor(Native):
    """A tensor that MegEngine keeps in another shape, with its elements in the same order."""

    kept: Sequence[int] = ()
    """Its canonical shape."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.kept)

    def assign(self, array: np.ndarray) -> None:
        self.tensor[...] = placed(array.reshape(self.tensor.shape))

    def fetch(self) -> np.ndarray:
        return to_numpy(self.tensor).reshape(self.kept)


def named(model: M.Module) -> dict[str, Native]:
    """All parameters and running statistics by canonical name; a tied one appears once."""
    found: dict[str, Native] = {}
    for path, module in model.named_modules():
        for leaf, tensor in module.named_tensors(recursive=False):
            kept = canonical(module, leaf, tuple(tensor.shape))
            trainable = isinstance(tensor, mge.Parameter)
            found[f"{path}.{leaf}" if path else leaf] = Tensor(tensor, trainable, kept=kept)
    return found


def canonical(module: M.Module, leaf: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The canonical shape of a tensor. In MegEngine, vectors over channels have four axes, and the
    weights of grouped convolutions five.
    """
    if isinstance(module, M.BatchNorm2d) or (isinstance(module, M.Conv2d) and leaf == "bias"):
        return (shape[1],)
    if isinstance(module, M.Conv2d) and len(shape) == 5:
        return (shape[0] * shape[1], *shape[2:])
    return shape


def placed(array: np.ndarray) -> mge.Tensor:
    """A copy of `array` as a tensor: floats become float32, whole numbers int32."""
    kind = np.float32 if array.dtype.kind == "f" else np.int32
    return mge.Tensor(np.array(array, kind, order="C"))


def to_numpy(tensor: mge.Tensor) -> np.ndarray:
    """A copy in float32."""
    return tensors.to_numpy(tensor.numpy())
