"""A mixture of experts as a causal language model in Keras; names as in MixtralForCausalLM.

Shapes: B batch, L sequence, T tokens, D hidden, E experts, K of them chosen for a token, F width
of an expert.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow import decoder
from mbench_tensorflow.decoder import (
    Decoder,
    advance,
    forward,
    layers,
    loss,
    prefill,
    projection,
    room,
)

if TYPE_CHECKING:
    from mbench.workloads.moe import MoeConfig

__all__ = ["DIFFERENCES", "advance", "build", "forward", "layers", "loss", "prefill", "room"]

DIFFERENCES = (
    *decoder.DIFFERENCES,
    "experts are products of the tokens that tf.dynamic_partition gives each; of fewer choices "
    "than experts, of the gathered weights",
)


class Mixture(keras.layers.Layer):
    """Each token's experts, chosen by a router."""

    def __init__(self, config: MoeConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.config = config
        self.gate = projection(config.experts, "gate")
        self.experts = Experts(config, name="experts")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        tokens = tf.reshape(x, (-1, x.shape[-1]))
        weights, numbers = chosen(self.gate(tokens), self.config.chosen)
        mixed = self.experts(tokens, tf.cast(weights, tokens.dtype), numbers)
        return tf.reshape(mixed, x.shape)


class Experts(keras.layers.Layer):
    """The experts: each is a SwiGLU."""

    def __init__(self, config: MoeConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.config = config

    def build(self, *_: object) -> None:
        config = self.config
        width, hidden = config.intermediate, config.hidden
        for leaf, shape in (("gate_up_proj", (2 * width, hidden)), ("down_proj", (hidden, width))):
            made = self.add_weight(shape=(config.experts, *shape), initializer="zeros", name=leaf)
            setattr(self, leaf, made)

    def call(self, x: tf.Tensor, weights: tf.Tensor, numbers: tf.Tensor) -> tf.Tensor:
        """(T, D), twice (T, K) -> (T, D)."""
        count, size = numbers.shape
        rows, numbers = tf.repeat(x, size, axis=0), tf.reshape(numbers, [-1])  # (T K, D), (T K)
        # Keras casts variables only for its own layers.
        tables = tf.cast(self.gate_up_proj, x.dtype), tf.cast(self.down_proj, x.dtype)
        apply = self.gathered if count * size < self.config.experts else self.sorted
        mixed = tf.reshape(apply(rows, numbers, *tables), (count, size, -1))
        return tf.reduce_sum(mixed * weights[..., None], 1)

    def sorted(
        self, rows: tf.Tensor, numbers: tf.Tensor, first: tf.Tensor, last: tf.Tensor
    ) -> tf.Tensor:
        """Expert by expert."""
        experts = self.config.experts
        places = tf.dynamic_partition(tf.range(rows.shape[0]), numbers, experts)
        parts = tf.dynamic_partition(rows, numbers, experts)
        found = [
            tf.matmul(swiglu(tf.matmul(part, first[n], transpose_b=True)), last[n],
                      transpose_b=True)
            for n, part in enumerate(parts)
        ]  # fmt: skip
        return tf.dynamic_stitch(places, found)

    def gathered(
        self, rows: tf.Tensor, numbers: tf.Tensor, first: tf.Tensor, last: tf.Tensor
    ) -> tf.Tensor:
        """Row by row."""
        inner = swiglu(tf.linalg.matvec(tf.gather(first, numbers), rows))
        return tf.linalg.matvec(tf.gather(last, numbers), inner)


def chosen(scores: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """(T, E) -> weights, which sum to 1, and numbers of the experts (T, K), int32; of equal ones,
    the first. Weights are float32, or float64 if the scores are.
    """
    kind = tf.float64 if scores.dtype == tf.float64 else tf.float32
    chances, numbers = tf.math.top_k(tf.nn.softmax(tf.cast(scores, kind)), count)
    return chances / tf.reduce_sum(chances, -1, keepdims=True), numbers


def swiglu(x: tf.Tensor) -> tf.Tensor:
    """(T, 2 F) -> (T, F)."""
    gate, up = tf.split(x, 2, axis=-1)
    return tf.nn.silu(gate) * up


build = partial(Decoder, mlp=Mixture, name="moe")
