"""VGG, with and without batch norm; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench.contract.compat import zipped
from mbench.workloads.vgg import HIDDEN, POOLED
from mbench_tensorflow1.images import DIFFERENCES, loss
from mbench_tensorflow1.layers import Net, flatten, max_pool, regions

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config, x, number = net.config, batch["images"], 0
    for blocks, width in zipped(config.blocks, config.widths):
        for _ in range(blocks):
            x = net.conv(f"features.{number}", x, width, 3, bias=True)
            x = tf.nn.relu(net.norm(f"features.{number + 1}", x) if config.batch_norm else x)
            number += 3 if config.batch_norm else 2
        x = max_pool(x, 2)
        number += 1  # the pooling
    x = flatten(regions(x, POOLED))
    for number in (0, 3):
        x = net.dropout(tf.nn.relu(net.linear(f"classifier.{number}", x, HIDDEN)), config.dropout)
    return {"logits": net.linear("classifier.6", x, config.classes)}
