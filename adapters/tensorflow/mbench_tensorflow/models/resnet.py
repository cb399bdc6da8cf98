"""ResNet in Keras, including wide and grouped ones; names as in torchvision's.

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
    max_pool,
    normalization,
    through,
)

if TYPE_CHECKING:
    from mbench.workloads.resnet import ResNetConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)


class ResNet(keras.Model):
    def __init__(self, config: ResNetConfig) -> None:
        super().__init__(name="resnet")
        self.conv1 = Convolution(config.stem, 7, strides=2, name="conv1")
        self.bn1 = normalization(config, "bn1")
        kind = Bottleneck if config.bottleneck else Basic
        self.blocks, inputs = [], config.stem
        stages = zip(config.blocks, config.widths, strict=True)
        for stage, (blocks, width) in enumerate(stages, start=1):
            for block in range(blocks):
                strides = 2 if stage > 1 and block == 0 else 1
                name = f"layer{stage}.{block}"
                self.blocks.append(kind(config, inputs, width, strides=strides, name=name))
                inputs = width * config.expansion
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.fc = dense(config.classes, "fc")

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = tf.nn.relu(self.bn1(self.conv1(images)))  # (B, H/2, W/2, C)
        x = max_pool(x, 3, padding=1)  # (B, H/4, W/4, C)
        return self.fc(self.avgpool(through(self.blocks, x)))


class Block(keras.layers.Layer):
    """Convolutions beside a shortcut, which has a convolution of its own if the shape changes."""

    def __init__(
        self, config: ResNetConfig, inputs: int, width: int, *, strides: int, name: str
    ) -> None:
        super().__init__(name=name)
        outputs = width * config.expansion
        self.downsample = []
        if strides > 1 or inputs != outputs:
            self.downsample = [
                Convolution(outputs, 1, strides=strides, name="downsample.0"),
                normalization(config, "downsample.1"),
            ]

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(through(self.downsample, x) + through(self.residual, x))


class Basic(Block):
    """Two 3x3 convolutions, the first with the stride."""

    def __init__(
        self, config: ResNetConfig, inputs: int, width: int, *, strides: int, name: str
    ) -> None:
        super().__init__(config, inputs, width, strides=strides, name=name)
        self.residual = [
            Convolution(width, 3, strides=strides, name="conv1"),
            normalization(config, "bn1"),
            tf.nn.relu,
            Convolution(width, 3, name="conv2"),
            normalization(config, "bn2"),
        ]


class Bottleneck(Block):
    """1x1, 3x3 with the stride, 1x1; in v1 the first has the stride."""

    def __init__(
        self, config: ResNetConfig, inputs: int, width: int, *, strides: int, name: str
    ) -> None:
        super().__init__(config, inputs, width, strides=strides, name=name)
        inner, groups = config.inner(width), config.groups
        first, second = (strides, 1) if config.stride_first else (1, strides)
        self.residual = [
            Convolution(inner, 1, strides=first, name="conv1"),
            normalization(config, "bn1"),
            tf.nn.relu,
            Convolution(inner, 3, strides=second, groups=groups, name="conv2"),
            normalization(config, "bn2"),
            tf.nn.relu,
            Convolution(width * config.expansion, 1, name="conv3"),
            normalization(config, "bn3"),
        ]


build = ResNet
