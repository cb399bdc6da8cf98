"""Inception v3, with its auxiliary head; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from mbench.contract.compat import zipped
from mbench.workloads.inception import AUXILIARY_WEIGHT, TALL, WIDE
from mbench_tensorflow1.images import DIFFERENCES
from mbench_tensorflow1.layers import Net, cross_entropy, max_pool, mean_of_pixels, mean_pool

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
HALVING = {"stride": 2, "padding": 0}


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K); in training the auxiliary head's too."""
    config, conv, outputs = net.config, net.conv_bn, {}
    x = conv("Conv2d_1a_3x3", batch["images"], 32, 3, **HALVING)
    x = conv("Conv2d_2b_3x3", conv("Conv2d_2a_3x3", x, 32, 3, padding=0), 64, 3)
    x = conv("Conv2d_3b_1x1", max_pool(x, 3), 80)
    x = max_pool(conv("Conv2d_4a_3x3", x, 192, 3, padding=0), 3)
    for letter, pooled in zipped("bcd", config.pooled):
        x = module_a(net, f"Mixed_5{letter}", x, pooled)
    x = module_b(net, "Mixed_6a", x)
    for letter, inner in zipped("bcde", config.factorized):
        x = module_c(net, f"Mixed_6{letter}", x, inner)
    y = conv("AuxLogits.conv0", mean_pool(x, 5, stride=3), 128)  # (B, 5, 5, 128)
    y = mean_of_pixels(conv("AuxLogits.conv1", y, 768, 5, padding=0))
    logits = net.linear("AuxLogits.fc", y, config.classes)
    if net.training:  # in inference it has parameters too, is no output, and is not run
        outputs["aux_logits"] = logits
    x = module_d(net, "Mixed_7a", x)
    for letter in "bc":
        x = module_e(net, f"Mixed_7{letter}", x)
    x = net.dropout(mean_of_pixels(x), config.dropout)
    return {"logits": net.linear("fc", x, config.classes), **outputs}


def chain(
    net: Net, at: str, x: tf.Tensor, *shapes: tuple[int, Any], halving: bool = False
) -> tf.Tensor:
    """Convolutions at_1, at_2 and so on, of channels and kernels; the last one may halve sides."""
    for number, shape in enumerate(shapes, 1):
        settings = HALVING if halving and number == len(shapes) else {}
        x = net.conv_bn(f"{at}_{number}", x, *shape, **settings)
    return x


def module_a(net: Net, at: str, x: tf.Tensor, pooled: int) -> tf.Tensor:
    return beside(
        net.conv_bn(f"{at}.branch1x1", x, 64),
        chain(net, f"{at}.branch5x5", x, (48, 1), (64, 5)),
        chain(net, f"{at}.branch3x3dbl", x, (64, 1), (96, 3), (96, 3)),
        net.conv_bn(f"{at}.branch_pool", mean(x), pooled),
    )


def module_b(net: Net, at: str, x: tf.Tensor) -> tf.Tensor:
    """Halves the sides."""
    return beside(
        net.conv_bn(f"{at}.branch3x3", x, 384, 3, **HALVING),
        chain(net, f"{at}.branch3x3dbl", x, (64, 1), (96, 3), (96, 3), halving=True),
        max_pool(x, 3),
    )


def module_c(net: Net, at: str, x: tf.Tensor, inner: int) -> tf.Tensor:
    tall, wide = (inner, TALL), (inner, WIDE)
    return beside(
        net.conv_bn(f"{at}.branch1x1", x, 192),
        chain(net, f"{at}.branch7x7", x, (inner, 1), wide, (192, TALL)),
        chain(net, f"{at}.branch7x7dbl", x, (inner, 1), tall, wide, tall, (192, WIDE)),
        net.conv_bn(f"{at}.branch_pool", mean(x), 192),
    )


def module_d(net: Net, at: str, x: tf.Tensor) -> tf.Tensor:
    """Halves the sides."""
    first = (192, 1)
    return beside(
        chain(net, f"{at}.branch3x3", x, first, (320, 3), halving=True),
        chain(
            net, f"{at}.branch7x7x3", x, (192, 1), (192, WIDE), (192, TALL), (192, 3), halving=True
        ),
        max_pool(x, 3),
    )


def module_e(net: Net, at: str, x: tf.Tensor) -> tf.Tensor:
    """Two branches end in a 1x3 and a 3x1 convolution side by side."""
    single = net.conv_bn(f"{at}.branch3x3_1", x, 384)
    double = chain(net, f"{at}.branch3x3dbl", x, (448, 1), (384, 3))
    return beside(
        net.conv_bn(f"{at}.branch1x1", x, 320),
        net.conv_bn(f"{at}.branch3x3_2a", single, 384, (1, 3)),
        net.conv_bn(f"{at}.branch3x3_2b", single, 384, (3, 1)),
        net.conv_bn(f"{at}.branch3x3dbl_3a", double, 384, (1, 3)),
        net.conv_bn(f"{at}.branch3x3dbl_3b", double, 384, (3, 1)),
        net.conv_bn(f"{at}.branch_pool", mean(x), 192),
    )


def mean(x: tf.Tensor) -> tf.Tensor:
    return mean_pool(x, 3, stride=1, padding=1)


def beside(*branches: tf.Tensor) -> tf.Tensor:
    return tf.concat(branches, axis=-1)


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    main, auxiliary = (
        cross_entropy(outputs[name], batch["labels"]) for name in ("logits", "aux_logits")
    )
    return main + AUXILIARY_WEIGHT * auxiliary
