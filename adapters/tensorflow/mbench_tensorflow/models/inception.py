"""Inception v3 in Keras, with its auxiliary head; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras

from mbench.workloads.inception import AUXILIARY_WEIGHT, auxiliary
from mbench_tensorflow.branches import BranchedNet, forward, loss_of, part
from mbench_tensorflow.layers import CHANNELS_LAST, FUSED_NORM, dense, through

if TYPE_CHECKING:
    import tensorflow as tf

    from mbench.workloads.branches import Head
    from mbench.workloads.inception import InceptionConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)
loss = loss_of(AUXILIARY_WEIGHT)


class Auxiliary(keras.layers.Layer):
    """A classifier of features from the middle of the network."""

    def __init__(self, config: InceptionConfig, head: Head) -> None:
        super().__init__(name=head.name)
        self.parts = [part(config, plan) for plan in auxiliary(head.inputs)]
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.fc = dense(config.classes, "fc")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, 17, 17, C) -> (B, K), at 299 pixels."""
        return self.fc(self.avgpool(through(self.parts, x)))


def build(config: InceptionConfig) -> keras.Model:
    return BranchedNet(config, Auxiliary, name="inception")
