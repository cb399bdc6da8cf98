"""Keras' variables by canonical name; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Variance", "named", "to_numpy"]

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
"""Beginnings of the names of variables whose layout is (..., in, out), not (out, in, ...)."""


def to_numpy(tensor: Any) -> np.ndarray:
    """A copy in float32, or in float64 where `tensor` is that."""
    found = np.array(keras.ops.convert_to_numpy(tensor))
    return found if found.dtype == np.float64 else found.astype(np.float32)


class Tensor(Native):
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


class Variance(Tensor):
    """The running variance of a batch norm, which Keras keeps biased.

    After k steps from `start` it is momentum**k * start and a rest that lacks the factor n/(n - 1)
    of the unbiased one, which PyTorch averages: it is put in where the variance is read.
    """

    start, steps, factor, momentum = 0.0, 0, 1.0, 0.0

    def begin(self, norm: keras.layers.BatchNormalization, batch_size: int) -> None:
        """Start from what was loaded; `norm` averages over a batch and its pixels."""
        count = batch_size * int(np.prod(norm.input.shape[1:-1]))
        self.__dict__.update(
            start=to_numpy(self.tensor[0].value).astype(np.float64),
            steps=0, factor=count / max(count - 1, 1), momentum=norm.momentum,
        )  # fmt: skip

    def fetch(self) -> np.ndarray:
        found = super().fetch()
        kept = self.momentum**self.steps * np.asarray(self.start)
        return (kept + self.factor * (found - kept)).astype(found.dtype)


def flattened(variable: Any) -> tuple[int, ...]:
    """The shape of a variable with the axes of heads put together: of attention's projections they
    are among the outputs, and among the inputs of the one at its end.
    """
    shape, path = tuple(variable.shape), variable.path.split("/")
    if len(path) < 3 or path[-2] not in ("query", "key", "value", "attention_output"):
        return shape
    if path[-1] == "bias":
        return (int(np.prod(shape)),)
    inputs = 2 if path[-2] == "attention_output" else 1
    return int(np.prod(shape[:inputs])), int(np.prod(shape[inputs:]))


def named(
    model: keras.Model, canonical: Callable[[str], str] | None, transposed: bool
) -> Mapping[str, Tensor]:
    """All parameters and running statistics. A variable's path is its canonical name, but for the
    leaf and for what `canonical` changes in it; kernels are `transposed` where PyTorch's are.

    Layers have "-" in their names where PyTorch's have ".", which Keras on PyTorch does not take.
    """
    parts: dict[str, list[Any]] = {}
    for variable in model.weights:
        *layers, leaf = variable.path.split("/")
        name = ".".join([*layers, LEAVES.get(leaf, leaf)]).replace("-", ".")
        parts.setdefault(canonical(name) if canonical else name, []).append(variable)
    found: dict[str, Tensor] = {}
    for name, variables in parts.items():
        leaf, dimensions = variables[0].path.split("/")[-1], len(flattened(variables[0]))
        kernel = leaf.startswith(KERNELS) and transposed
        kind = Variance if leaf == "moving_variance" else Tensor
        axes = (*range(2, dimensions), 1, 0) if kernel else ()
        found[name] = kind(variables, variables[0].trainable, axes)
    return found
