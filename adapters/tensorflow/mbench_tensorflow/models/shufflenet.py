"""ShuffleNetV2 in Keras; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    from mbench.workloads.shufflenet import ShuffleNetConfig, Unit

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)


class ShuffleNetV2(keras.Model):
    def __init__(self, config: ShuffleNetConfig) -> None:
        super().__init__(name="shufflenet")
        self.conv1 = Convolution(config.stem, 3, strides=2, name="conv1.0")
        self.bn1 = normalization(config, "conv1.1")
        self.blocks = [
            Block(config, plan) if plan.stride == 1 else DownBlock(config, plan)
            for stage in config.stages()
            for plan in stage
        ]
        self.conv5 = Convolution(config.last, 1, name="conv5.0")
        self.bn5 = normalization(config, "conv5.1")
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.fc = dense(config.classes, "fc")

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = tf.nn.relu(self.bn1(self.conv1(images)))  # (B, H/2, W/2, C)
        x = max_pool(x, 3, padding=1)  # (B, H/4, W/4, C)
        x = through(self.blocks, x)
        return self.fc(self.avgpool(tf.nn.relu(self.bn5(self.conv5(x)))))


class Block(keras.layers.Layer):
    """The first half of the channels stays as it is."""

    def __init__(self, config: ShuffleNetConfig, plan: Unit) -> None:
        super().__init__(name=plan.name)
        self.branch2 = second_branch(config, plan)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        kept, changed = tf.split(x, 2, axis=-1)
        return interleaved(kept, through(self.branch2, changed))


class DownBlock(keras.layers.Layer):
    """Both branches take all channels, with a stride of 2."""

    def __init__(self, config: ShuffleNetConfig, plan: Unit) -> None:
        super().__init__(name=plan.name)
        inputs, half = plan.inputs, plan.half
        self.branch1 = [
            Convolution(inputs, 3, strides=2, groups=inputs, name="branch1.0"),
            normalization(config, "branch1.1"),
            Convolution(half, 1, name="branch1.2"),
            normalization(config, "branch1.3"),
            tf.nn.relu,
        ]
        self.branch2 = second_branch(config, plan)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return interleaved(through(self.branch1, x), through(self.branch2, x))


def second_branch(config: ShuffleNetConfig, plan: Unit) -> list[Any]:
    half = plan.half
    return [
        Convolution(half, 1, name="branch2.0"),
        normalization(config, "branch2.1"),
        tf.nn.relu,
        Convolution(half, 3, strides=plan.stride, groups=half, name="branch2.3"),
        normalization(config, "branch2.4"),
        Convolution(half, 1, name="branch2.5"),
        normalization(config, "branch2.6"),
        tf.nn.relu,
    ]


def interleaved(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """Twice (B, H, W, C/2) -> (B, H, W, C): concatenated, and shuffled in two groups."""
    stacked = tf.stack((first, second), axis=-1)  # (B, H, W, C/2, 2)
    return tf.reshape(stacked, (*first.shape[:3], -1))


build = ShuffleNetV2
