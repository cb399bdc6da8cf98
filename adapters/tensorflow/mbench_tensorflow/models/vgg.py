"""VGG in Keras, with and without batch norm; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.workloads.vgg import HIDDEN, POOLED
from mbench_tensorflow.images import forward, loss
from mbench_tensorflow.layers import (
    CHANNELS_LAST,
    FUSED_NORM,
    Convolution,
    dense,
    flatten,
    max_pool,
    normalization,
    regions,
    through,
)

if TYPE_CHECKING:
    from mbench.workloads.vgg import VGGConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, f"where there is any, {FUSED_NORM}")


class VGG(keras.Model):
    def __init__(self, config: VGGConfig) -> None:
        super().__init__(name="vgg")
        self.stages, number = [], 0
        for blocks, width in zip(config.blocks, config.widths, strict=True):
            stage = []
            for _ in range(blocks):
                stage.append(Convolution(width, 3, bias=True, name=f"features.{number}"))
                if config.batch_norm:
                    stage.append(normalization(config, f"features.{number + 1}"))
                stage.append(tf.nn.relu)
                number += 3 if config.batch_norm else 2
            self.stages.append(stage)
            number += 1  # the pooling
        self.classifier = [
            dense(HIDDEN, "classifier.0"),
            tf.nn.relu,
            keras.layers.Dropout(config.dropout),
            dense(HIDDEN, "classifier.3"),
            tf.nn.relu,
            keras.layers.Dropout(config.dropout),
            dense(config.classes, "classifier.6"),
        ]

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = images
        for stage in self.stages:
            x = max_pool(through(stage, x), 2)
        return through(self.classifier, flatten(regions(x, POOLED)))


build = VGG
