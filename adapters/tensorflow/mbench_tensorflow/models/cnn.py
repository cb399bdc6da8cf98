"""A small convolutional network in Keras; names as in mbench.workloads.cnn.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.images import forward, loss
from mbench_tensorflow.layers import (
    CHANNELS_LAST,
    FUSED_NORM,
    Convolution,
    dense,
    flatten,
    max_pool,
    normalization,
)

if TYPE_CHECKING:
    from mbench.workloads.cnn import CNNConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)


class CNN(keras.Model):
    def __init__(self, config: CNNConfig) -> None:
        super().__init__(name="cnn")
        self.conv1 = Convolution(config.first, 3, name="conv1")
        self.bn1 = normalization(config, "bn1")
        self.conv2 = Convolution(config.second, 3, name="conv2")
        self.bn2 = normalization(config, "bn2")
        self.fc = dense(config.classes, "fc")

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, C) -> (B, K)."""
        x = max_pool(tf.nn.relu(self.bn1(self.conv1(images))), 2)
        x = max_pool(tf.nn.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(flatten(x))


build = CNN
