"""ResNet v1.5 in Keras; names as in torchvision's, layouts TensorFlow's own.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.layers import BatchNormalization

if TYPE_CHECKING:
    from mbench.workloads.resnet import ResNetConfig

    Tensors = dict[str, tf.Tensor]

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (
    "images are channels last (NHWC), TensorFlow's own layout",
    "batch norm is TensorFlow's fused kernel: Keras composes it of elementwise operations",
)


class ResNet(keras.Model):
    def __init__(self, config: ResNetConfig) -> None:
        super().__init__(name="resnet")
        self.conv1 = Convolution(config.stem, 7, strides=2, name="conv1")
        self.bn1 = normalization(config, "bn1")
        # Padding with 0 stands for padding with -inf: what comes out of ReLU is never below 0.
        self.padding = keras.layers.ZeroPadding2D(1)
        self.maxpool = keras.layers.MaxPooling2D(3, strides=2)
        self.blocks = [
            Bottleneck(
                config,
                width,
                strides=2 if stage > 1 and block == 0 else 1,
                downsample=block == 0,
                name=f"layer{stage}.{block}",
            )
            for stage, (blocks, width) in enumerate(
                zip(config.blocks, config.widths, strict=True), start=1
            )
            for block in range(blocks)
        ]
        self.avgpool = keras.layers.GlobalAveragePooling2D()
        self.fc = keras.layers.Dense(config.classes, kernel_initializer="zeros", name="fc")

    def call(self, images: tf.Tensor, training: bool = False) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = tf.nn.relu(self.bn1(self.conv1(images), training=training))  # (B, H/2, W/2, C)
        x = self.maxpool(self.padding(x))  # (B, H/4, W/4, C)
        for block in self.blocks:
            x = block(x, training=training)
        return self.fc(self.avgpool(x))


class Bottleneck(keras.layers.Layer):
    """1x1, 3x3 with the stride (hence v1.5), 1x1; a stage's first has a shortcut of its own."""

    def __init__(
        self, config: ResNetConfig, width: int, *, strides: int, downsample: bool, name: str
    ) -> None:
        super().__init__(name=name)
        outputs = width * config.expansion
        self.conv1 = Convolution(width, 1, name="conv1")
        self.bn1 = normalization(config, "bn1")
        self.conv2 = Convolution(width, 3, strides=strides, name="conv2")
        self.bn2 = normalization(config, "bn2")
        self.conv3 = Convolution(outputs, 1, name="conv3")
        self.bn3 = normalization(config, "bn3")
        self.downsample = None
        if downsample:
            self.downsample = Convolution(outputs, 1, strides=strides, name="downsample.0")
            self.downsample_bn = normalization(config, "downsample.1")

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        y = tf.nn.relu(self.bn1(self.conv1(x), training=training))
        y = tf.nn.relu(self.bn2(self.conv2(y), training=training))
        y = self.bn3(self.conv3(y), training=training)
        if self.downsample is not None:
            x = self.downsample_bn(self.downsample(x), training=training)
        return tf.nn.relu(x + y)


class Convolution(keras.layers.Conv2D):
    """Without bias, padded by half its kernel on every side.

    At stride 1 this is TensorFlow's "same"; at stride 2 "same" would pad one side more than the
    other. Explicit paddings would do, but their gradients are slow on CPU.
    """

    def __init__(self, filters: int, kernel: int, *, strides: int = 1, name: str) -> None:
        super().__init__(
            filters,
            kernel,
            strides=strides,
            padding="same",
            use_bias=False,
            kernel_initializer="zeros",  # values are loaded
            name=name,
        )
        margin = [kernel // 2, kernel // 2]
        self.margins = [[0, 0], margin, margin, [0, 0]]

    def convolution_op(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        if self.strides == (1, 1) or self.kernel_size == (1, 1):
            return super().convolution_op(x, kernel)
        return tf.nn.conv2d(tf.pad(x, self.margins), kernel, self.strides, "VALID")


def normalization(config: ResNetConfig, name: str) -> BatchNormalization:
    return BatchNormalization(epsilon=config.epsilon, momentum=1 - config.momentum, name=name)


def build(config: ResNetConfig) -> keras.Model:
    return ResNet(config)


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    return {"logits": model(batch["images"], training=training)}


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(batch["labels"], outputs["logits"])
    )
