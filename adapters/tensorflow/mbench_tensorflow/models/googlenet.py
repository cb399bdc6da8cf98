"""GoogLeNet in Keras, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT
from mbench_tensorflow.layers import (
    CHANNELS_LAST,
    FUSED_NORM,
    NormedConvolution,
    cross_entropy,
    dense,
    flatten,
    max_pool,
    regions,
    through,
)

if TYPE_CHECKING:
    from mbench.workloads.googlenet import GoogLeNetConfig, Mixed

    Tensors = dict[str, tf.Tensor]

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)
POOLINGS = {"3a": 3, "4a": 3, "5a": 2}
"""Sizes of the max poolings that come before modules."""


class GoogLeNet(keras.Model):
    def __init__(self, config: GoogLeNetConfig) -> None:
        super().__init__(name="googlenet")
        self.conv1 = NormedConvolution(config, 64, 7, "conv1", strides=2)
        self.conv2 = NormedConvolution(config, 64, 1, "conv2")
        self.conv3 = NormedConvolution(config, 192, 3, "conv3")
        self.modules = [(module.name, Inception(config, module)) for module in config.modules]
        self.heads = {
            module.name: Auxiliary(config, name=module.auxiliary)
            for module in config.modules
            if module.auxiliary
        }
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.dropout = keras.layers.Dropout(config.dropout)
        self.fc = dense(config.classes, "fc")

    def call(self, images: tf.Tensor, training: bool = False) -> Tensors:
        """(B, H, W, 3) -> (B, K), and as much of each auxiliary head in training."""
        x = max_pool(self.conv1(images), 3, ceil=True)
        x = self.conv3(self.conv2(x))
        outputs = {}
        for name, module in self.modules:
            if name in POOLINGS:
                x = max_pool(x, POOLINGS[name], ceil=True)
            x = module(x)
            head = self.heads.get(name)
            # The first call makes all variables, whatever it is for.
            if head is not None and (training or not head.classifier[-1].built):
                outputs[f"{head.name}_logits"] = head(x)
        logits = self.fc(self.dropout(self.avgpool(x)))
        return {"logits": logits, **(outputs if training else {})}


class Inception(keras.layers.Layer):
    """1x1, twice 1x1 before 3x3, and pooling before 1x1, concatenated."""

    def __init__(self, config: GoogLeNetConfig, module: Mixed) -> None:
        super().__init__(name=f"inception{module.name}")
        self.branch1 = NormedConvolution(config, module.single, 1, "branch1")
        self.branch2 = [
            NormedConvolution(config, module.reduce3, 1, "branch2.0"),
            NormedConvolution(config, module.wide3, 3, "branch2.1"),
        ]
        self.branch3 = [
            NormedConvolution(config, module.reduce5, 1, "branch3.0"),
            NormedConvolution(config, module.wide5, 3, "branch3.1"),
        ]
        self.branch4 = NormedConvolution(config, module.pooled, 1, "branch4.1")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        pooled = tf.nn.max_pool2d(x, 3, 1, "SAME")
        branches = (
            self.branch1(x),
            through(self.branch2, x),
            through(self.branch3, x),
            self.branch4(pooled),
        )
        return tf.concat(branches, axis=-1)


class Auxiliary(keras.layers.Layer):
    """A classifier on what is in the middle."""

    def __init__(self, config: GoogLeNetConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.conv = NormedConvolution(config, 128, 1, "conv")
        self.classifier = [
            dense(1024, "fc1"),
            tf.nn.relu,
            keras.layers.Dropout(config.auxiliary_dropout),
            dense(config.classes, "fc2"),
        ]

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, H, W, C) -> (B, K)."""
        x = self.conv(regions(x, AUXILIARY_SIDE))  # (B, 4, 4, 128)
        return through(self.classifier, flatten(x))


build = GoogLeNet


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K); in training both auxiliary heads' too."""
    outputs: Tensors = model(batch["images"], training=training)
    return outputs


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    main, first, second = (
        cross_entropy(outputs[name], batch["labels"])
        for name in ("logits", "aux1_logits", "aux2_logits")
    )
    return main + AUXILIARY_WEIGHT * (first + second)
