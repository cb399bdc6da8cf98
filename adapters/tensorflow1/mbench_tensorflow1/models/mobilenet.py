"""MobileNetV2; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow1.images import DIFFERENCES, loss
from mbench_tensorflow1.layers import Net, mean_of_pixels

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config = net.config

    def normed(at: str, x: tf.Tensor, *shape: int, **settings: int) -> tf.Tensor:
        return tf.nn.relu6(net.normed(f"{at}.0", f"{at}.1", x, *shape, **settings))

    x, number = normed("features.0", batch["images"], config.stem, 3, stride=2), 1
    for stack in config.stacks:
        for block in range(stack.repeats):
            # 1x1 to more channels if there are to be more, depthwise 3x3, 1x1 to fewer.
            y, at, part = x, f"features.{number}.conv", 0
            inner, stride = x.shape[-1] * stack.expansion, 1 if block else stack.stride
            if stack.expansion > 1:
                y, part = normed(f"{at}.0", y, inner), 1
            y = normed(f"{at}.{part}", y, inner, 3, stride=stride, groups=inner)
            y = net.normed(f"{at}.{part + 1}", f"{at}.{part + 2}", y, stack.outputs)
            x = x + y if x.shape == y.shape else y
            number += 1
    x = net.dropout(mean_of_pixels(normed(f"features.{number}", x, config.last)), config.dropout)
    return {"logits": net.linear("classifier.1", x, config.classes)}
