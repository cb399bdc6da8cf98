"""MnasNet; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench.workloads.mnasnet import LAST
from mbench_tensorflow1.images import DIFFERENCES, loss
from mbench_tensorflow1.layers import Net, mean_of_pixels

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config, x = net.config, batch["images"]

    def normed(at: str, number: int, x: tf.Tensor, *shape: int, **settings: int) -> tf.Tensor:
        return net.normed(f"{at}.{number}", f"{at}.{number + 1}", x, *shape, **settings)

    x = tf.nn.relu(normed("layers", 0, x, config.stem, 3, stride=2))
    x = tf.nn.relu(normed("layers", 3, x, config.stem, 3, groups=config.stem))
    x = normed("layers", 6, x, config.separable)
    for number, stack in enumerate(config.stacks, 8):
        for block in range(stack.repeats):
            # 1x1 to more channels, depthwise, 1x1 to fewer, without ReLU at the end.
            at, inner = f"layers.{number}.{block}.layers", x.shape[-1] * stack.expansion
            stride = 1 if block else stack.stride
            y = tf.nn.relu(normed(at, 0, x, inner))
            y = tf.nn.relu(normed(at, 3, y, inner, stack.kernel, stride=stride, groups=inner))
            y = normed(at, 6, y, stack.outputs)
            x = x + y if x.shape == y.shape else y
    x = net.dropout(mean_of_pixels(tf.nn.relu(normed("layers", 14, x, LAST))), config.dropout)
    return {"logits": net.linear("classifier.1", x, config.classes)}
