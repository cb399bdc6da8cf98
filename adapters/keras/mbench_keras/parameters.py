"""Keras' variables by canonical name; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from mbench.sdk import tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["named", "to_numpy"]

LEAVES = {
    "kernel": "weight",
    "embeddings": "weight",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}
"""Keras' names of variables that have another one in PyTorch."""
KERNELS = ("kernel", "weight_ih", "weight_hh")
"""Name prefixes of variables whose layout is (..., in, out), not (out, in, ...)."""


def to_numpy(tensor: Any) -> np.ndarray:
    """A copy in float32, or in float64 if `tensor` is float64."""
    return tensors.to_numpy(keras.ops.convert_to_numpy(tensor))


class Tensor(tensors.Native):
    """A list of Keras' variables: one, or those that lie side by side in one canonical tensor, as
    the heads of query, key and value do.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        flat = [flattened(variable) for variable in self.tensor]
        own = (*flat[0][:-1], sum(shape[-1] for shape in flat))
        return tuple(own[at] for at in np.argsort(self.axes)) if self.axes else own

    def assign(self, array: np.ndarray) -> None:
        ends = np.cumsum([flattened(variable)[-1] for variable in self.tensor])[:-1]
        for variable, part in zip(self.tensor, np.split(array, ends, axis=-1), strict=True):
            variable.assign(np.ascontiguousarray(part.reshape(variable.shape)))

    def fetch(self) -> np.ndarray:
        parts = [to_numpy(v.value).reshape(flattened(v)) for v in self.tensor]
        return np.concatenate(parts, axis=-1)


def flattened(variable: Any) -> tuple[int, ...]:
    """The shape of a variable with the axes of heads merged: in attention's projections they are
    among the outputs, and in its last projection among the inputs.
    """
    shape, (layer, leaf) = tuple(variable.shape), variable.path.split("/")[-2:]
    if layer in ("query", "key", "value"):
        return (*shape[:-2], shape[-2] * shape[-1])
    if layer == "attention_output" and leaf == "kernel":
        return (shape[0] * shape[1], shape[2])
    return shape


def named(
    model: keras.Model, canonical: Callable[[str], str], transposed: bool
) -> Mapping[str, Tensor]:
    """All parameters and running statistics. A variable's path is its canonical name, except for
    the leaf and what `canonical` changes; kernels are `transposed` if PyTorch's are.

    Layers have "-" in their names where PyTorch's have ".", which Keras on PyTorch does not accept.
    """
    parts: dict[str, list[Any]] = {}
    for variable in model.weights:
        *layers, leaf = variable.path.split("/")
        name = ".".join([*layers, LEAVES.get(leaf, leaf)]).replace("-", ".")
        parts.setdefault(canonical(name), []).append(variable)
    found: dict[str, Tensor] = {}
    for name, variables in parts.items():
        kernel = variables[0].path.rpartition("/")[2].startswith(KERNELS)
        turned = transposed and kernel
        axes = (*range(2, len(flattened(variables[0]))), 1, 0) if turned else ()
        found[name] = Tensor(variables, variables[0].trainable, axes)
    return found
