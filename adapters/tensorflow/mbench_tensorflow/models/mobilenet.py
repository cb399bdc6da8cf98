"""MobileNetV2 in Keras; names as in torchvision's.

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
    normalization,
    through,
)

if TYPE_CHECKING:
    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mobilenet import MobileNetConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)


class MobileNetV2(keras.Model):
    def __init__(self, config: MobileNetConfig) -> None:
        super().__init__(name="mobilenet")
        self.features = [
            Convolution(config.stem, 3, strides=2, name="features.0.0"),
            normalization(config, "features.0.1"),
            tf.nn.relu6,
        ]
        self.features += [InvertedResidual(config, plan) for plan in config.blocks()]
        self.features += [
            Convolution(config.last, 1, name=f"{config.last_name}.0"),
            normalization(config, f"{config.last_name}.1"),
            tf.nn.relu6,
        ]
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.dropout = keras.layers.Dropout(config.dropout)
        self.classifier = dense(config.classes, "classifier.1")

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = self.avgpool(through(self.features, images))  # (B, C)
        return self.classifier(self.dropout(x))


class InvertedResidual(keras.layers.Layer):
    """1x1 to more channels if it expands, depthwise 3x3, 1x1 to fewer."""

    def __init__(self, config: MobileNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__(name=plan.name)
        self.layers, number = [], 0
        if plan.expands:
            number = 1
            self.layers = [
                Convolution(plan.inner, 1, name="0.0"),
                normalization(config, "0.1"),
                tf.nn.relu6,
            ]
        inner, strides = plan.inner, plan.stride
        self.layers += [
            Convolution(inner, plan.kernel, strides=strides, groups=inner, name=f"{number}.0"),
            normalization(config, f"{number}.1"),
            tf.nn.relu6,
            Convolution(plan.outputs, 1, name=f"{number + 1}"),
            normalization(config, f"{number + 2}"),
        ]
        self.summed = plan.summed

    def call(self, x: tf.Tensor) -> tf.Tensor:
        y = through(self.layers, x)
        return x + y if self.summed else y


build = MobileNetV2
