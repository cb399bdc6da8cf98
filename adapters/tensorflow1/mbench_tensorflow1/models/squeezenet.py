"""SqueezeNet; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow1.images import DIFFERENCES, loss
from mbench_tensorflow1.layers import Net, max_pool, mean_of_pixels

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config = net.config

    def conv(name: str, x: tf.Tensor, *shape: int, **settings: int) -> tf.Tensor:
        return tf.nn.relu(net.conv(name, x, *shape, bias=True, **settings))

    x = conv("features.0", batch["images"], config.stem, config.kernel, stride=2, padding=0)
    number = 3
    for group in config.groups:
        x = max_pool(x, 3, ceil=True)
        for fire in group:
            at = f"features.{number}"
            x = conv(f"{at}.squeeze", x, fire.squeeze)
            expanded = [conv(f"{at}.expand{k}x{k}", x, fire.expand, k) for k in (1, 3)]
            x = tf.concat(expanded, axis=-1)
            number += 1
        number += 1  # the pooling
    x = conv("classifier.1", net.dropout(x, config.dropout), config.classes)
    return {"logits": mean_of_pixels(x)}
