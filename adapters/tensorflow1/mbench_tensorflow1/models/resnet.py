"""ResNet, wide and grouped ones too; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench.contract.compat import zipped
from mbench_tensorflow1.images import DIFFERENCES, loss
from mbench_tensorflow1.layers import Net, max_pool, mean_of_pixels

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config = net.config
    x = tf.nn.relu(net.normed("conv1", "bn1", batch["images"], config.stem, 7, stride=2))
    x = max_pool(x, 3, padding=1)  # (B, H/4, W/4, C)
    block = bottleneck if config.bottleneck else basic
    for stage, (blocks, width) in enumerate(zipped(config.blocks, config.widths), 1):
        for number in range(blocks):
            at, stride = f"layer{stage}.{number}", 2 if stage > 1 and number == 0 else 1
            y = block(net, at, x, width, stride)
            if x.shape != y.shape:
                names = f"{at}.downsample.0", f"{at}.downsample.1"
                x = net.normed(*names, x, y.shape[-1], stride=stride)
            x = tf.nn.relu(x + y)
    return {"logits": net.linear("fc", mean_of_pixels(x), config.classes)}


def basic(net: Net, at: str, x: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    """Two of 3x3, the first with the stride."""
    x = tf.nn.relu(net.normed(f"{at}.conv1", f"{at}.bn1", x, width, 3, stride=stride))
    return net.normed(f"{at}.conv2", f"{at}.bn2", x, width, 3)


def bottleneck(net: Net, at: str, x: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    """1x1, 3x3 with the stride, 1x1; in v1 the first has the stride."""
    config, inner = net.config, net.config.inner(width)
    first, second = (stride, 1) if config.stride_first else (1, stride)
    groups = config.groups
    x = tf.nn.relu(net.normed(f"{at}.conv1", f"{at}.bn1", x, inner, stride=first))
    x = tf.nn.relu(
        net.normed(f"{at}.conv2", f"{at}.bn2", x, inner, 3, stride=second, groups=groups)
    )
    return net.normed(f"{at}.conv3", f"{at}.bn3", x, width * config.expansion)
