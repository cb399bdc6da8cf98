"""Canonical tensors to and from the model's own; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import keras

__all__ = ["load", "named", "read", "shapes", "to_numpy", "trainable"]

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
"""Beginnings of the names of variables with another layout than PyTorch's."""


def trainable(model: keras.Model) -> dict[str, tf.Variable]:
    """Variables that the optimizer updates, by canonical name."""
    return {name: v.value for name, v in named(model).items() if v.trainable}


def named(model: keras.Model) -> dict[str, keras.Variable]:
    """All parameters and running statistics by canonical name.

    Layers are named as in PyTorch, so a variable's path below the model is its name but for the
    leaf: "resnet/layer1.0/conv1/kernel" is "layer1.0.conv1.weight".
    """
    found = {}
    for variable in model.weights:
        _, *layers, leaf = variable.path.split("/")
        found[".".join([*layers, LEAVES.get(leaf, leaf)])] = variable
    return found


def shapes(model: keras.Model) -> dict[str, tuple[int, ...]]:
    """Canonical shapes by canonical name."""
    return {name: canonical_shape(variable) for name, variable in named(model).items()}


def load(model: keras.Model, arrays: Iterable[tuple[str, np.ndarray]]) -> None:
    """Copy `arrays` into the model.

    Raises ValueError for a name that the model lacks or that comes twice, for a wrong shape,
    and for a tensor left out.
    """
    missing = named(model)
    for name, array in arrays:
        variable = missing.pop(name, None)
        if variable is None:
            raise ValueError(f"the model has no {name}, or it came before")
        expected = canonical_shape(variable)
        if expected != array.shape:
            raise ValueError(f"{name} is {expected} in the model, not {array.shape}")
        if is_kernel(variable):
            array = to_native(array)
        variable.value.assign(tf.cast(array, variable.dtype))
    if missing:
        raise ValueError(f"the model has {next(iter(missing))}, which was left out")


def read(model: keras.Model) -> Iterator[tuple[str, np.ndarray]]:
    """Copies of all tensors, one at a time; half precision widened to float32."""
    for name, variable in named(model).items():
        array = to_numpy(variable.value)
        yield name, to_canonical(array) if is_kernel(variable) else array


def to_numpy(tensor: tf.Tensor | tf.Variable) -> np.ndarray:
    """A copy in float32, or in float64 where `tensor` is."""
    dtype = np.float64 if tensor.dtype == tf.float64 else np.float32
    return tensor.numpy().astype(dtype, copy=False)


def is_kernel(variable: keras.Variable) -> bool:
    """Whether its last two axes are (in, out), which are PyTorch's first two, (out, in)."""
    return variable.name.startswith(KERNELS)


def canonical_shape(variable: keras.Variable) -> tuple[int, ...]:
    shape = tuple(variable.shape)
    if not is_kernel(variable):
        return shape
    return (*reversed(shape[-2:]), *shape[:-2])


def to_native(kernel: np.ndarray) -> np.ndarray:
    """(out, in) -> (in, out); (out, in, height, width) -> (height, width, in, out)."""
    return np.moveaxis(kernel, (0, 1), (-1, -2))


def to_canonical(kernel: np.ndarray) -> np.ndarray:
    """The way back of `to_native`."""
    return np.moveaxis(kernel, (-1, -2), (0, 1))
