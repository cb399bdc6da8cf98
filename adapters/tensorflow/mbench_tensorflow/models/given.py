"""A dense layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.layers import dense

if TYPE_CHECKING:
    from mbench.workloads.given import GivenConfig

    Tensors = dict[str, tf.Tensor]

__all__ = ["build", "forward", "loss"]


class Given(keras.Model):
    def __init__(self, config: GivenConfig) -> None:
        super().__init__(name="given")
        self.linear = dense(config.outputs, "linear")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """(B, N) -> (B, K)."""
        return self.linear(inputs)


build = Given


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": model(batch["inputs"], training=training)}


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    """The mean over samples of the dot products of outputs and directions, both (B, K)."""
    found = outputs["outputs"]
    directions = tf.cast(batch["directions"], found.dtype)
    return tf.reduce_mean(tf.reduce_sum(found * directions, axis=1))
