"""The model's tensors by canonical name; PyTorch's names and layouts are canonical."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from mbench.sdk.tensors import Native

if TYPE_CHECKING:
    import keras

__all__ = ["named", "to_numpy"]

LEAVES = {
    "kernel": "weight",
    "embeddings": "weight",
    "gamma": "weight",
    "scale": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}
"""PyTorch's names for variables that Keras names differently, by Keras' names."""
KERNELS = ("kernel", "weight_ih", "weight_hh")
"""Prefixes of the names of variables whose layout is (..., in, out), not (out, in, ...)."""


class Tensor(Native):
    """One of Keras' variables."""

    def assign(self, array: np.ndarray) -> None:
        self.tensor.value.assign(tf.cast(array, self.tensor.dtype))

    def fetch(self) -> np.ndarray:
        return to_numpy(self.tensor.value)


def named(model: keras.Model) -> dict[str, Native]:
    """All parameters and running statistics by canonical name.

    Layers are named as in PyTorch, so a variable's path below the model is its canonical name
    except for the leaf: "resnet/layer1.0/conv1/kernel" is "layer1.0.conv1.weight".
    """
    found: dict[str, Native] = {}
    for variable in model.weights:
        _, *layers, leaf = variable.path.split("/")
        axes = (*range(2, variable.ndim), 1, 0) if leaf.startswith(KERNELS) else ()
        name = ".".join([*layers, LEAVES.get(leaf, leaf)])
        found[name] = Tensor(variable, variable.trainable, axes)
    return found


def to_numpy(tensor: tf.Tensor | tf.Variable) -> np.ndarray:
    """A copy in float32, or in float64 if `tensor` is float64."""
    dtype = np.float64 if tensor.dtype == tf.float64 else np.float32
    return np.asarray(tensor.numpy(), dtype)  # numpy() returns a scalar for a tensor without axes
