"""DenseNet; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow1.images import DIFFERENCES, loss
from mbench_tensorflow1.layers import Net, max_pool, mean_of_pixels, mean_pool

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config = net.config

    def activated(name: str, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(net.norm(f"features.{name}", x))

    x = net.conv("features.conv0", batch["images"], config.stem, 7, stride=2)  # (B, H/2, W/2, C)
    x = max_pool(activated("norm0", x), 3, padding=1)  # (B, H/4, W/4, C)
    for block, depth in enumerate(config.blocks, 1):
        if block > 1:
            at = f"transition{block - 1}"
            x = net.conv(f"features.{at}.conv", activated(f"{at}.norm", x), x.shape[-1] // 2)
            x = mean_pool(x, 2, stride=2)
        for layer in range(1, depth + 1):
            at, inner = f"denseblock{block}.denselayer{layer}", config.bottleneck * config.growth
            y = net.conv(f"features.{at}.conv1", activated(f"{at}.norm1", x), inner)
            y = net.conv(f"features.{at}.conv2", activated(f"{at}.norm2", y), config.growth, 3)
            x = tf.concat((x, y), axis=-1)
    x = mean_of_pixels(activated("norm5", x))
    return {"logits": net.linear("classifier", x, config.classes)}
