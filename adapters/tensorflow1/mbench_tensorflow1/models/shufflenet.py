"""ShuffleNetV2; names as in torchvision's.

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

    def normed(at: str, number: int, x: tf.Tensor, *shape: int, **settings: int) -> tf.Tensor:
        return net.normed(f"{at}.{number}", f"{at}.{number + 1}", x, *shape, **settings)

    x = tf.nn.relu(
        normed("conv1", 0, batch["images"], config.stem, 3, stride=2)
    )  # (B, H/2, W/2, C)
    x = max_pool(x, 3, padding=1)  # (B, H/4, W/4, C)
    for stage, (blocks, width) in enumerate(zipped(config.blocks, config.widths), 2):
        half = width // 2
        for block in range(blocks):
            at, stride = f"stage{stage}.{block}", 1 if block else 2
            if block:  # the first half of the channels stays as it is
                kept, y = tf.split(x, 2, axis=-1)
            else:  # both branches take all channels
                y, inputs = x, x.shape[-1]
                kept = normed(f"{at}.branch1", 0, x, inputs, 3, stride=2, groups=inputs)
                kept = tf.nn.relu(normed(f"{at}.branch1", 2, kept, half))
            y = tf.nn.relu(normed(f"{at}.branch2", 0, y, half))
            y = normed(f"{at}.branch2", 3, y, half, 3, stride=stride, groups=half)
            y = tf.nn.relu(normed(f"{at}.branch2", 5, y, half))
            # Concatenated, and shuffled in two groups.
            x = tf.reshape(tf.stack((kept, y), axis=-1), (*y.shape[:3], width))
    x = mean_of_pixels(tf.nn.relu(normed("conv5", 0, x, config.last)))
    return {"logits": net.linear("fc", x, config.classes)}
