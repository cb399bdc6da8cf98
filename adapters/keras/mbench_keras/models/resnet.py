"""ResNet in Keras, including wide and grouped ones; names as in torchvision's.

Shapes: B batch, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
from keras import layers

if TYPE_CHECKING:
    from mbench.workloads.resnet import ResNetConfig

__all__ = ["DIFFERENCES", "LABELS", "build"]

DIFFERENCES = ("images are channels last (NHWC), Keras' default",)
LABELS = {"logits": "labels"}


def build(config: ResNetConfig) -> keras.Model:
    """images (B, H, W, 3) -> logits (B, K)."""
    images = keras.Input((config.image_size, config.image_size, 3), name="images")
    x = normed(config, images, config.stem, 7, "conv1", "bn1", strides=2)
    x = layers.ZeroPadding2D(1)(layers.ReLU()(x))  # after a ReLU, 0 stands for -inf
    x = layers.MaxPooling2D(3, 2)(x)
    for stage, (blocks, width) in enumerate(zip(config.blocks, config.widths, strict=True), 1):
        for block in range(blocks):
            strides = 2 if stage > 1 and block == 0 else 1
            x = residual(config, x, width, f"layer{stage}-{block}", strides)
    x = layers.GlobalAveragePooling2D()(x)
    logits = layers.Dense(config.classes, kernel_initializer="zeros", name="fc")(x)
    return keras.Model({"images": images}, {"logits": logits})


def residual(config: ResNetConfig, x: Any, width: int, at: str, strides: int) -> Any:
    """Convolutions and a shortcut, which has its own convolution if shapes change."""
    outputs, shortcut = width * config.expansion, x
    if strides > 1 or x.shape[-1] != outputs:
        shortcut = normed(
            config, x, outputs, 1, f"{at}-downsample-0", f"{at}-downsample-1", strides=strides
        )
    if config.bottleneck:
        inner = config.inner(width)
        first, second = (strides, 1) if config.stride_first else (1, strides)
        parts = [(inner, 1, first, 1), (inner, 3, second, config.groups), (outputs, 1, 1, 1)]
    else:
        parts = [(width, 3, strides, 1), (width, 3, 1, 1)]
    for number, (filters, kernel, step, groups) in enumerate(parts, 1):
        x = layers.ReLU()(x) if number > 1 else x
        names = f"{at}-conv{number}", f"{at}-bn{number}"
        x = normed(config, x, filters, kernel, *names, strides=step, groups=groups)
    return layers.ReLU()(layers.Add()([x, shortcut]))


def normed(
    config: ResNetConfig, x: Any, filters: int, kernel: int, conv: str, norm: str, *,
    strides: int = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """A convolution padded by half its kernel, and its batch norm. At stride 2, Keras' "same" pads
    one side more than the other, so a layer before it pads, as in keras.applications.
    """
    padding = "same"
    if strides > 1 and kernel > 1:
        x, padding = layers.ZeroPadding2D(kernel // 2)(x), "valid"
    x = layers.Conv2D(
        filters, kernel, strides, padding, groups=groups, use_bias=False,
        kernel_initializer="zeros", name=conv,
    )(x)  # fmt: skip
    return layers.BatchNormalization(
        momentum=1 - config.momentum, epsilon=config.epsilon, name=norm
    )(x)
