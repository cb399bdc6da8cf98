"""AlexNet; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench.workloads.alexnet import POOLED
from mbench_tensorflow1.images import DIFFERENCES, loss
from mbench_tensorflow1.layers import Net, flatten, max_pool, regions

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config, x = net.config, batch["images"]

    def conv(number: int, x: tf.Tensor, *shape: int, **settings: int) -> tf.Tensor:
        return tf.nn.relu(net.conv(f"features.{number}", x, *shape, bias=True, **settings))

    first, second, third, fourth, fifth = config.widths
    x = max_pool(conv(0, x, first, 11, stride=4, padding=2), 3)
    x = max_pool(conv(3, x, second, 5), 3)
    x = conv(8, conv(6, x, third, 3), fourth, 3)
    x = max_pool(conv(10, x, fifth, 3), 3)
    x = net.dropout(flatten(regions(x, POOLED)), config.dropout)
    x = net.dropout(tf.nn.relu(net.linear("classifier.1", x, config.hidden)), config.dropout)
    x = tf.nn.relu(net.linear("classifier.4", x, config.hidden))
    return {"logits": net.linear("classifier.6", x, config.classes)}
