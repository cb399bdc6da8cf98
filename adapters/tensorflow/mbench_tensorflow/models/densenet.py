"""DenseNet in Keras; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.workloads import densenet as plans
from mbench_tensorflow.images import forward, loss
from mbench_tensorflow.layers import (
    CHANNELS_LAST,
    FUSED_NORM,
    Convolution,
    dense,
    max_pool,
    normalization,
    through,
)

if TYPE_CHECKING:
    from mbench.workloads.densenet import DenseNetConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)


class DenseNet(keras.Model):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__(name="densenet")
        self.conv0 = Convolution(config.stem, 7, strides=2, name="features.conv0")
        self.norm0 = normalization(config, "features.norm0")
        self.blocks = [
            Transition(config, plan) if isinstance(plan, plans.Transition) else Dense(config, plan)
            for plan in config.parts()
        ]
        self.norm5 = normalization(config, "features.norm5")
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.classifier = dense(config.classes, "classifier")

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = tf.nn.relu(self.norm0(self.conv0(images)))  # (B, H/2, W/2, C)
        x = max_pool(x, 3, padding=1)  # (B, H/4, W/4, C)
        x = through(self.blocks, x)
        return self.classifier(self.avgpool(tf.nn.relu(self.norm5(x))))


class Dense(keras.layers.Layer):
    """Appends channels to its input's."""

    def __init__(self, config: DenseNetConfig, plan: plans.DenseLayer) -> None:
        super().__init__(name=f"features.{plan.name}")
        self.layers = [
            normalization(config, "norm1"),
            tf.nn.relu,
            Convolution(plan.inner, 1, name="conv1"),
            normalization(config, "norm2"),
            tf.nn.relu,
            Convolution(plan.growth, 3, name="conv2"),
        ]

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, H, W, C) -> (B, H, W, C + growth)."""
        return tf.concat((x, through(self.layers, x)), axis=-1)


class Transition(keras.layers.Layer):
    """Halves channels, height and width."""

    def __init__(self, config: DenseNetConfig, plan: plans.Transition) -> None:
        super().__init__(name=f"features.{plan.name}")
        self.norm = normalization(config, "norm")
        self.conv = Convolution(plan.outputs, 1, name="conv")
        self.pool = keras.layers.AveragePooling2D(2)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.pool(self.conv(tf.nn.relu(self.norm(x))))


build = DenseNet
