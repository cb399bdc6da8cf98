"""Operators as Keras' own layers and TensorFlow's functions.

Shapes: named after the sizes of each kind, but images are (n, h, w, c).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from mbench_tensorflow import layers, recurrent
from mbench_tensorflow.decoder import normalization, projection, rotated
from mbench_tensorflow.precision import wide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.workloads.operators import Kind

    Tensors = Mapping[str, tf.Tensor]

__all__ = ["build", "forward"]

DIFFERENCES_OF = {
    "conv2d": (layers.CHANNELS_LAST,),
    "attention": (layers.UNFUSED_ATTENTION,),
    "grouped_attention": (layers.UNFUSED_ATTENTION,),
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
    """The parameter to update. It computes nothing."""

    def __init__(self, kind: Any, name: str) -> None:
        super().__init__(name=name)
        self.elements = kind.elements

    def build(self, shape: tuple[int, ...]) -> None:
        self.weight = self.add_weight(shape=(self.elements,), initializer="zeros", name="weight")

    def call(self, gradient: tf.Tensor) -> tf.Tensor:
        return tf.identity(self.weight)


class Attention(keras.layers.Layer):
    """Attention on (b, l, heads * width)."""

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


class Rotary(keras.layers.Layer):
    """Rotations of (b, l, heads * width)."""

    def __init__(self, kind: Any, name: str) -> None:
        super().__init__(name=name)
        self.heads = kind.heads
        self.tables = [table[:, None] for table in kind.rotations()]

    def call(self, x: tf.Tensor) -> tf.Tensor:
        heads = tf.reshape(x, (*x.shape[:2], self.heads, -1))
        turns = [tf.constant(table, x.dtype) for table in self.tables]
        return tf.reshape(rotated(heads, turns), x.shape)


class GroupedAttention(keras.layers.Layer):
    """Attention on (b, l, heads * width), with keys and values (b, t, shared * width): the heads of
    a group are rows of one product.
    """

    def __init__(self, kind: Any, name: str) -> None:
        super().__init__(name=name)
        self.shape = (kind.b, kind.l, kind.shared, kind.heads // kind.shared, kind.width)
        self.seen = kind.seen()

    def call(self, query: tf.Tensor, key: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
        size, length, shared, groups, width = self.shape
        query = tf.reshape(query * (1 / math.sqrt(width)), self.shape)
        query = tf.transpose(query, (0, 2, 3, 1, 4))  # (b, shared, groups, l, width)
        rows = tf.reshape(query, (size, shared, groups * length, width))
        key, value = (
            tf.transpose(tf.reshape(one, (size, -1, shared, width)), (0, 2, 1, 3))
            for one in (key, value)
        )
        scores = tf.matmul(rows, key, transpose_b=True)
        apart = tf.reshape(scores, (*query.shape[:4], -1))
        if length > 1:
            apart = tf.where(self.seen, apart, apart.dtype.min)
        weights = tf.reshape(tf.nn.softmax(apart), scores.shape)
        found = tf.reshape(tf.matmul(weights, value), query.shape)
        return tf.reshape(tf.transpose(found, (0, 3, 1, 2, 4)), (size, length, -1))


class EmbeddingBag(keras.layers.Embedding):
    """Sums of rows with the numbers (bags, of_bag)."""

    def call(self, tokens: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(super().call(tokens), axis=1)


class Function(keras.layers.Layer):
    """A layer without variables. In mixed precision, Keras casts its inputs if `autocast`."""

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


def gated(gate: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    return tf.nn.silu(gate) * x


def cross_entropy(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """In float32 at least, as the losses of models."""
    return tf.cast(layers.cross_entropy(wide(logits), labels), logits.dtype)


LAYERS: dict[str, Callable[[Any, str], keras.layers.Layer]] = {
    "matmul": MatMul,
    "bmm": lambda kind, name: Function(tf.matmul, name),
    "linear": lambda kind, name: (layers.dense if kind.bias else projection)(kind.units, name),
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
    "embedding_bag": lambda kind, name: EmbeddingBag(
        kind.vocabulary, kind.features, "zeros", name=name
    ),
    "rms_norm": normalization,
    "rotary": Rotary,
    "grouped_attention": GroupedAttention,
    "swiglu": lambda kind, name: Function(gated, name),
    "lstm": lambda kind, name: recurrent.LSTM(kind.hidden, 0, return_sequences=True, name=name),
    "sgd": Weight,
    "adamw": Weight,
}  # fmt: skip


class Calls(keras.Model):
    """The calls of a step, each with its own weights. Only the layers cast their inputs."""

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
