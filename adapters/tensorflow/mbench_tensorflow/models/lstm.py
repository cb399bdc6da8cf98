"""A deep LSTM that classifies sequences, in Keras; names as in PyTorch's.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras

from mbench_tensorflow.layers import cross_entropy, dense, through
from mbench_tensorflow.recurrent import DIFFERENCES, LSTM

if TYPE_CHECKING:
    import tensorflow as tf

    from mbench.workloads.lstm import LSTMConfig

    Tensors = dict[str, tf.Tensor]

__all__ = ["DIFFERENCES", "build", "forward", "loss"]


class Classifier(keras.Model):
    def __init__(self, config: LSTMConfig) -> None:
        super().__init__(name="classifier")
        last = config.layers - 1
        self.lstm = [
            LSTM(config.hidden, number, return_sequences=number < last, name="lstm")
            for number in range(config.layers)
        ]
        self.linear = dense(config.classes, "linear")

    def call(self, features: tf.Tensor) -> tf.Tensor:
        """(B, L, F) -> (B, K)."""
        return self.linear(through(self.lstm, features))


build = Classifier


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """features (B, L, F) -> logits (B, K)."""
    return {"logits": model(batch["features"], training=training)}


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    return cross_entropy(outputs["logits"], batch["labels"])
