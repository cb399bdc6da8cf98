"""GoogLeNet, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT
from mbench_tensorflow1.images import DIFFERENCES
from mbench_tensorflow1.layers import Net, cross_entropy, flatten, max_pool, mean_of_pixels, regions

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


POOLINGS = {"3a": 3, "4a": 3, "5a": 2}
"""Sizes of the max poolings that come before modules."""


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K); in training both auxiliary heads' too."""
    config, outputs = net.config, {}
    x = max_pool(net.conv_bn("conv1", batch["images"], 64, 7, stride=2), 3, ceil=True)
    x = net.conv_bn("conv3", net.conv_bn("conv2", x, 64), 192, 3)
    for module in config.modules:
        if module.name in POOLINGS:
            x = max_pool(x, POOLINGS[module.name], ceil=True)
        x = inception(net, x, module)
        if module.auxiliary:  # has parameters in inference too, where it is no output and not run
            logits = auxiliary(net, x, module.auxiliary)
            if net.training:
                outputs[f"{module.auxiliary}_logits"] = logits
    x = net.dropout(mean_of_pixels(x), config.dropout)
    return {"logits": net.linear("fc", x, config.classes), **outputs}


def inception(net: Net, x: tf.Tensor, module: Any) -> tf.Tensor:
    """1x1, twice 1x1 before 3x3, and pooling before 1x1, concatenated."""
    conv, at = net.conv_bn, f"inception{module.name}"
    second = conv(f"{at}.branch2.0", x, module.reduce3)
    third = conv(f"{at}.branch3.0", x, module.reduce5)
    branches = (
        conv(f"{at}.branch1", x, module.single),
        conv(f"{at}.branch2.1", second, module.wide3, 3),
        conv(f"{at}.branch3.1", third, module.wide5, 3),
        conv(f"{at}.branch4.1", max_pool(x, 3, stride=1, padding=1), module.pooled),
    )
    return tf.concat(branches, axis=-1)


def auxiliary(net: Net, x: tf.Tensor, at: str) -> tf.Tensor:
    """A classifier on what is in the middle."""
    x = flatten(net.conv_bn(f"{at}.conv", regions(x, AUXILIARY_SIDE), 128))
    x = net.dropout(tf.nn.relu(net.linear(f"{at}.fc1", x, 1024)), net.config.auxiliary_dropout)
    return net.linear(f"{at}.fc2", x, net.config.classes)


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    main, first, second = (
        cross_entropy(outputs[name], batch["labels"])
        for name in ("logits", "aux1_logits", "aux2_logits")
    )
    return main + AUXILIARY_WEIGHT * (first + second)
