"""GoogLeNet in Keras, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT, HIDDEN, auxiliary
from mbench_tensorflow.branches import BranchedNet, forward, loss_of, part
from mbench_tensorflow.layers import CHANNELS_LAST, FUSED_NORM, dense, flatten, regions

if TYPE_CHECKING:
    from mbench.workloads.branches import Head
    from mbench.workloads.googlenet import GoogLeNetConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)
loss = loss_of(AUXILIARY_WEIGHT)


class Auxiliary(keras.layers.Layer):
    """A classifier of features from the middle of the network."""

    def __init__(self, config: GoogLeNetConfig, head: Head) -> None:
        super().__init__(name=head.name)
        self.conv = part(config, auxiliary(head.inputs))
        self.hidden = dense(HIDDEN, "fc1")
        self.dropout = keras.layers.Dropout(config.auxiliary_dropout)
        self.fc = dense(config.classes, "fc2")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, H, W, C) -> (B, K)."""
        x = self.conv(regions(x, AUXILIARY_SIDE))  # (B, 4, 4, 128)
        return self.fc(self.dropout(tf.nn.relu(self.hidden(flatten(x)))))


def build(config: GoogLeNetConfig) -> keras.Model:
    return BranchedNet(config, Auxiliary, name="googlenet")
