"""MnasNet in Keras; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.workloads.mnasnet import LAST
from mbench_tensorflow.images import forward, loss
from mbench_tensorflow.layers import (
    CHANNELS_LAST,
    FUSED_NORM,
    Convolution,
    dense,
    normalization,
    through,
)

if TYPE_CHECKING:
    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mnasnet import MnasNetConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)


class MnasNet(keras.Model):
    def __init__(self, config: MnasNetConfig) -> None:
        super().__init__(name="mnasnet")
        self.features = [
            Convolution(config.stem, 3, strides=2, name="layers.0"),
            normalization(config, "layers.1"),
            tf.nn.relu,
            Convolution(config.stem, 3, groups=config.stem, name="layers.3"),
            normalization(config, "layers.4"),
            tf.nn.relu,
            Convolution(config.separable, 1, name="layers.6"),
            normalization(config, "layers.7"),
        ]
        self.features += [
            InvertedResidual(config, plan) for stage in config.stages() for plan in stage
        ]
        self.features += [
            Convolution(LAST, 1, name="layers.14"),
            normalization(config, "layers.15"),
            tf.nn.relu,
        ]
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.dropout = keras.layers.Dropout(config.dropout)
        self.classifier = dense(config.classes, "classifier.1")

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = self.avgpool(through(self.features, images))  # (B, C)
        return self.classifier(self.dropout(x))


class InvertedResidual(keras.layers.Layer):
    """1x1 to more channels, a depthwise convolution, 1x1 to fewer, without ReLU at the end."""

    def __init__(self, config: MnasNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__(name=plan.name)
        inner, strides = plan.inner, plan.stride
        self.layers = [
            Convolution(inner, 1, name="0"),
            normalization(config, "1"),
            tf.nn.relu,
            Convolution(inner, plan.kernel, strides=strides, groups=inner, name="3"),
            normalization(config, "4"),
            tf.nn.relu,
            Convolution(plan.outputs, 1, name="6"),
            normalization(config, "7"),
        ]
        self.summed = plan.summed

    def call(self, x: tf.Tensor) -> tf.Tensor:
        y = through(self.layers, x)
        return x + y if self.summed else y


build = MnasNet
