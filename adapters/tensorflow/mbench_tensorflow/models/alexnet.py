"""AlexNet in Keras; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.workloads.alexnet import POOLED
from mbench_tensorflow.images import forward, loss
from mbench_tensorflow.layers import (
    CHANNELS_LAST,
    Convolution,
    dense,
    flatten,
    max_pool,
    regions,
    through,
)

if TYPE_CHECKING:
    from mbench.workloads.alexnet import AlexNetConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST,)


class AlexNet(keras.Model):
    def __init__(self, config: AlexNetConfig) -> None:
        super().__init__(name="alexnet")
        first, second, third, fourth, fifth = config.widths
        self.conv0 = Convolution(first, 11, strides=4, padding=2, bias=True, name="features.0")
        self.conv3 = Convolution(second, 5, bias=True, name="features.3")
        self.conv6 = Convolution(third, 3, bias=True, name="features.6")
        self.conv8 = Convolution(fourth, 3, bias=True, name="features.8")
        self.conv10 = Convolution(fifth, 3, bias=True, name="features.10")
        self.classifier = [
            keras.layers.Dropout(config.dropout),
            dense(config.hidden, "classifier.1"),
            tf.nn.relu,
            keras.layers.Dropout(config.dropout),
            dense(config.hidden, "classifier.4"),
            tf.nn.relu,
            dense(config.classes, "classifier.6"),
        ]

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = max_pool(tf.nn.relu(self.conv0(images)), 3)
        x = max_pool(tf.nn.relu(self.conv3(x)), 3)
        x = tf.nn.relu(self.conv8(tf.nn.relu(self.conv6(x))))
        x = max_pool(tf.nn.relu(self.conv10(x)), 3)
        return through(self.classifier, flatten(regions(x, POOLED)))


build = AlexNet
