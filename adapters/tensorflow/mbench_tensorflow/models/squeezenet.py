"""SqueezeNet in Keras; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.images import forward, loss
from mbench_tensorflow.layers import CHANNELS_LAST, Convolution, max_pool, through

if TYPE_CHECKING:
    from mbench.workloads.squeezenet import Fire as FireConfig
    from mbench.workloads.squeezenet import SqueezeNetConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST,)


class SqueezeNet(keras.Model):
    def __init__(self, config: SqueezeNetConfig) -> None:
        super().__init__(name="squeezenet")
        self.conv = Convolution(
            config.stem, config.kernel, strides=2, padding=0, bias=True, name="features.0"
        )
        self.groups, number = [], 3
        for group in config.groups:
            numbered = enumerate(group, start=number)
            self.groups.append([Fire(fire, name=f"features.{at}") for at, fire in numbered])
            number += len(group) + 1  # the pooling
        self.dropout = keras.layers.Dropout(config.dropout)
        self.classifier = Convolution(config.classes, 1, bias=True, name="classifier.1")
        self.avgpool = keras.layers.GlobalAveragePooling2D()

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = tf.nn.relu(self.conv(images))
        for group in self.groups:
            x = through(group, max_pool(x, 3, ceil=True))
        return self.avgpool(tf.nn.relu(self.classifier(self.dropout(x))))


class Fire(keras.layers.Layer):
    """Squeeze to few channels by 1x1; expand to many by 1x1 and 3x3, concatenated."""

    def __init__(self, config: FireConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.squeeze = Convolution(config.squeeze, 1, bias=True, name="squeeze")
        self.expand1x1 = Convolution(config.expand, 1, bias=True, name="expand1x1")
        self.expand3x3 = Convolution(config.expand, 3, bias=True, name="expand3x3")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = tf.nn.relu(self.squeeze(x))
        expanded = tf.nn.relu(self.expand1x1(x)), tf.nn.relu(self.expand3x3(x))
        return tf.concat(expanded, axis=-1)


build = SqueezeNet
