"""Operators as Keras' own layers and TensorFlow's functions.

Shapes: as the sizes of each kind are called, but images are (n, h, w, c).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from mbench_tensorflow import layers, recurrent
from mbench_tensorflow.precision import wide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.operators import Kind

    Tensors = Mapping[str, tf.Tensor]

__all__ = ["build", "forward"]

DIFFERENCES_OF = {
    "conv2d": (layers.CHANNELS_LAST,),
    "attention": (layers.UNFUSED_ATTENTION,),
    "batch_norm": (layers.CHANNELS_LAST, layers.FUSED_NORM),
    "max_pool": (layers.CHANNELS_LAST,),
    "mean_pool": (layers.CHANNELS_LAST,),
    "lstm": recurrent.DIFFERENCES,
}


class MatMul(keras.layers.Layer):
    def __init__(self, kind: Any, name: str) -> None:
        super().__init__(name=name)
        self.columns = kind.n

    def build(self, shape: tuple[int, ...]) -> None:
        self.weight = self.add_weight(
            shape=(shape[-1], self.columns), initializer="zeros", name="weight"
        )

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, self.weight)


class Weight(keras.layers.Layer):
    """What an update is of. It computes nothing."""

    def __init__(self, kind: Any, name: str) -> None:
        super().__init__(name=name)
        self.elements = kind.elements

    def build(self, shape: tuple[int, ...]) -> None:
        self.weight = self.add_weight(shape=(self.elements,), initializer="zeros", name="weight")

    def call(self, gradient: tf.Tensor) -> tf.Tensor:
        return tf.identity(self.weight)


class Attention(keras.layers.Layer):
    """Of (b, l, heads by width)."""

    def __init__(self, kind: Any, name: str) -> None:
        super().__init__(name=name)
        self.shape = (kind.b, kind.l, kind.heads, kind.width)

    def call(self, query: tf.Tensor, key: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
        shape = query.shape
        query, key, value = (
            tf.transpose(tf.reshape(tensor, self.shape), (0, 2, 1, 3))
            for tensor in (query, key, value)
        )
        query *= 1 / math.sqrt(query.shape[-1])
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))  # (b, heads, l, l)
        return tf.reshape(tf.transpose(tf.matmul(weights, value), (0, 2, 1, 3)), shape)


class Function(keras.layers.Layer):
    """It has no variables. In mixed precision Keras casts what it takes, but without `autocast`."""

    def __init__(
        self,
        function: Callable[..., tf.Tensor],
        name: str,
        *,
        autocast: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__(name=name, autocast=autocast)
        self.function = function
        self.settings = settings

    def call(self, *tensors: tf.Tensor) -> tf.Tensor:
        return self.function(*tensors, **self.settings)


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """In float32 at least, as the losses of models."""
    return tf.cast(layers.cross_entropy(wide(logits), labels), logits.dtype)


LAYERS: dict[str, Callable[[Any, str], keras.layers.Layer]] = {
    "matmul": MatMul,
    "bmm": lambda kind, name: Function(tf.matmul, name),
    "linear": lambda kind, name: layers.dense(kind.units, name),
    "conv2d": lambda kind, name: layers.Convolution(
        kind.filters, kind.kernel,
        strides=kind.stride, padding=kind.padding, groups=kind.groups, name=name,
    ),
    "attention": Attention,
    "batch_norm": layers.normalization,
    "layer_norm": lambda kind, name: keras.layers.LayerNormalization(
        epsilon=kind.epsilon, name=name
    ),
    "softmax": lambda kind, name: Function(tf.nn.softmax, name),
    "cross_entropy": lambda kind, name: Function(cross_entropy, name, autocast=False),
    "relu": lambda kind, name: Function(tf.nn.relu, name),
    "gelu": lambda kind, name: Function(layers.gelu, name),
    "add": lambda kind, name: Function(tf.add, name),
    "empty": lambda kind, name: Function(tf.identity, name),
    "max_pool": lambda kind, name: Function(
        layers.max_pool, name,
        size=kind.kernel, strides=kind.stride, padding=kind.padding, outside=-math.inf,
    ),
    "mean_pool": lambda kind, name: keras.layers.GlobalAveragePooling2D(name=name),
    "embedding": lambda kind, name: keras.layers.Embedding(
        kind.vocabulary, kind.features, "zeros", name=name
    ),
    "lstm": lambda kind, name: recurrent.LSTM(kind.hidden, 0, return_sequences=True, name=name),
    "sgd": Weight,
    "adamw": Weight,
}  # fmt: skip


class Calls(keras.Model):
    """So many calls, each with weights of its own. What of its inputs is cast, a layer casts."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(name="operators", autocast=False)
        self.differences = DIFFERENCES_OF.get(kind.kind, ())
        self.operands = [one.name for one in kind.inputs()]
        self.calls = [LAYERS[kind.kind](kind, f"calls.{at}") for at in range(kind.calls)]

    def call(self, batch: Tensors) -> dict[str, tf.Tensor]:
        return {
            f"output.{at}": call(*(batch[f"{name}.{at}"] for name in self.operands))
            for at, call in enumerate(self.calls)
        }


build = Calls


def forward(model: Calls, batch: Tensors, *, training: bool) -> dict[str, tf.Tensor]:
    """The output of each call: "output.0"."""
    return model(batch, training=training)
