"""Inception v3 in Keras, with its auxiliary head; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench.workloads.inception import AUXILIARY_WEIGHT, TALL, WIDE
from mbench_tensorflow.layers import (
    CHANNELS_LAST,
    FUSED_NORM,
    NormedConvolution,
    cross_entropy,
    dense,
    max_pool,
    through,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.workloads.inception import InceptionConfig

    Tensors = dict[str, tf.Tensor]
    Branch = list[Callable[[tf.Tensor], tf.Tensor]]

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (CHANNELS_LAST, FUSED_NORM)


class Inception3(keras.Model):
    def __init__(self, config: InceptionConfig) -> None:
        super().__init__(name="inception")
        conv = partial(NormedConvolution, config)
        self.stem = [
            conv(32, 3, "Conv2d_1a_3x3", strides=2, padding=0),
            conv(32, 3, "Conv2d_2a_3x3", padding=0),
            conv(64, 3, "Conv2d_2b_3x3"),
            maximum,
            conv(80, 1, "Conv2d_3b_1x1"),
            conv(192, 3, "Conv2d_4a_3x3", padding=0),
            maximum,
        ]
        self.early = [
            *(
                MixedA(config, pooled, name=f"Mixed_5{letter}")
                for letter, pooled in zip("bcd", config.pooled, strict=True)
            ),
            MixedB(config, name="Mixed_6a"),
            *(
                MixedC(config, inner, name=f"Mixed_6{letter}")
                for letter, inner in zip("bcde", config.factorized, strict=True)
            ),
        ]
        self.auxiliary = Auxiliary(config, name="AuxLogits")
        self.late = [
            MixedD(config, name="Mixed_7a"),
            MixedE(config, name="Mixed_7b"),
            MixedE(config, name="Mixed_7c"),
        ]
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.dropout = keras.layers.Dropout(config.dropout)
        self.fc = dense(config.classes, "fc")

    def call(self, images: tf.Tensor, training: bool = False) -> Tensors:
        """(B, H, W, 3) -> (B, K), and as much of the auxiliary head in training."""
        x = through(self.early, through(self.stem, images))
        outputs = {}
        # The first call makes all variables, whatever it is for.
        if training or not self.auxiliary.fc.built:
            outputs["aux_logits"] = self.auxiliary(x)
        x = self.avgpool(through(self.late, x))
        logits = self.fc(self.dropout(x))
        return {"logits": logits, **(outputs if training else {})}


class Mixed(keras.layers.Layer):
    """Branches side by side, their outputs concatenated; layers by name as torchvision's."""

    branches: list[Branch]

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.concat([through(branch, x) for branch in self.branches], axis=-1)


class MixedA(Mixed):
    def __init__(self, config: InceptionConfig, pooled: int, *, name: str) -> None:
        super().__init__(name=name)
        conv = partial(NormedConvolution, config)
        self.branches = [
            [conv(64, 1, "branch1x1")],
            [conv(48, 1, "branch5x5_1"), conv(64, 5, "branch5x5_2")],
            [
                conv(64, 1, "branch3x3dbl_1"),
                conv(96, 3, "branch3x3dbl_2"),
                conv(96, 3, "branch3x3dbl_3"),
            ],
            [mean, conv(pooled, 1, "branch_pool")],
        ]


class MixedB(Mixed):
    """Halves the sides."""

    def __init__(self, config: InceptionConfig, *, name: str) -> None:
        super().__init__(name=name)
        conv = partial(NormedConvolution, config)
        self.branches = [
            [conv(384, 3, "branch3x3", strides=2, padding=0)],
            [
                conv(64, 1, "branch3x3dbl_1"),
                conv(96, 3, "branch3x3dbl_2"),
                conv(96, 3, "branch3x3dbl_3", strides=2, padding=0),
            ],
            [maximum],
        ]


class MixedC(Mixed):
    def __init__(self, config: InceptionConfig, inner: int, *, name: str) -> None:
        super().__init__(name=name)
        conv = partial(NormedConvolution, config)
        self.branches = [
            [conv(192, 1, "branch1x1")],
            [
                conv(inner, 1, "branch7x7_1"),
                conv(inner, WIDE, "branch7x7_2"),
                conv(192, TALL, "branch7x7_3"),
            ],
            [
                conv(inner, 1, "branch7x7dbl_1"),
                conv(inner, TALL, "branch7x7dbl_2"),
                conv(inner, WIDE, "branch7x7dbl_3"),
                conv(inner, TALL, "branch7x7dbl_4"),
                conv(192, WIDE, "branch7x7dbl_5"),
            ],
            [mean, conv(192, 1, "branch_pool")],
        ]


class MixedD(Mixed):
    """Halves the sides."""

    def __init__(self, config: InceptionConfig, *, name: str) -> None:
        super().__init__(name=name)
        conv = partial(NormedConvolution, config)
        self.branches = [
            [
                conv(192, 1, "branch3x3_1"),
                conv(320, 3, "branch3x3_2", strides=2, padding=0),
            ],
            [
                conv(192, 1, "branch7x7x3_1"),
                conv(192, WIDE, "branch7x7x3_2"),
                conv(192, TALL, "branch7x7x3_3"),
                conv(192, 3, "branch7x7x3_4", strides=2, padding=0),
            ],
            [maximum],
        ]


class MixedE(keras.layers.Layer):
    """Two branches end in a 1x3 and a 3x1 convolution side by side."""

    def __init__(self, config: InceptionConfig, *, name: str) -> None:
        super().__init__(name=name)
        conv = partial(NormedConvolution, config)
        self.branch1x1 = conv(320, 1, "branch1x1")
        self.branch3x3 = conv(384, 1, "branch3x3_1")
        self.ends3x3 = [
            conv(384, (1, 3), "branch3x3_2a"),
            conv(384, (3, 1), "branch3x3_2b"),
        ]
        self.branch3x3dbl = [conv(448, 1, "branch3x3dbl_1"), conv(384, 3, "branch3x3dbl_2")]
        self.ends3x3dbl = [
            conv(384, (1, 3), "branch3x3dbl_3a"),
            conv(384, (3, 1), "branch3x3dbl_3b"),
        ]
        self.branch_pool = conv(192, 1, "branch_pool")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        single = self.branch3x3(x)
        double = through(self.branch3x3dbl, x)
        branches = (
            self.branch1x1(x),
            *(end(single) for end in self.ends3x3),
            *(end(double) for end in self.ends3x3dbl),
            self.branch_pool(mean(x)),
        )
        return tf.concat(branches, axis=-1)


class Auxiliary(keras.layers.Layer):
    """A classifier on what is in the middle."""

    def __init__(self, config: InceptionConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.conv0 = NormedConvolution(config, 128, 1, "conv0")
        self.conv1 = NormedConvolution(config, 768, 5, "conv1", padding=0)
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.fc = dense(config.classes, "fc")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, 17, 17, C) -> (B, K), at 299 pixels."""
        x = self.conv0(tf.nn.avg_pool2d(x, 5, 3, "VALID"))  # (B, 5, 5, 128)
        return self.fc(self.avgpool(self.conv1(x)))


def maximum(x: tf.Tensor) -> tf.Tensor:
    return max_pool(x, 3)


def mean(x: tf.Tensor) -> tf.Tensor:
    """Over 3x3 pixels, zeros around the image among them, which "same" would leave out."""
    margin = (1, 1)
    x = tf.pad(x, ((0, 0), margin, margin, (0, 0)))
    return tf.nn.avg_pool2d(x, 3, 1, "VALID")


build = Inception3


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K); in training the auxiliary head's too."""
    outputs: Tensors = model(batch["images"], training=training)
    return outputs


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    main, auxiliary = (
        cross_entropy(outputs[name], batch["labels"]) for name in ("logits", "aux_logits")
    )
    return main + AUXILIARY_WEIGHT * auxiliary
