"""ShuffleNetV2; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax.nn import relu

from mbench_jax.images import DIFFERENCES, loss
from mbench_jax.layers import Array, Net, Tensors, max_pool

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config = net.config

    def normed(at: str, number: int, x: Array, *shape: int, **settings: int) -> Array:
        return net.normed(f"{at}.{number}", f"{at}.{number + 1}", x, *shape, **settings)

    x = relu(normed("conv1", 0, batch["images"], config.stem, 3, stride=2))  # (B, H/2, W/2, C)
    x = max_pool(x, 3, padding=1)  # (B, H/4, W/4, C)
    for stage, (blocks, width) in enumerate(zip(config.blocks, config.widths, strict=True), 2):
        half = width // 2
        for block in range(blocks):
            at, stride = f"stage{stage}.{block}", 1 if block else 2
            if block:  # the first half of the channels stays as it is
                kept, y = jnp.split(x, 2, axis=-1)
            else:  # both branches take all channels
                y, inputs = x, x.shape[-1]
                kept = normed(f"{at}.branch1", 0, x, inputs, 3, stride=2, groups=inputs)
                kept = relu(normed(f"{at}.branch1", 2, kept, half))
            y = relu(normed(f"{at}.branch2", 0, y, half))
            y = normed(f"{at}.branch2", 3, y, half, 3, stride=stride, groups=half)
            y = relu(normed(f"{at}.branch2", 5, y, half))
            # Concatenated, and shuffled in two groups.
            x = jnp.stack((kept, y), axis=-1).reshape(*y.shape[:3], width)
    x = relu(normed("conv5", 0, x, config.last)).mean((1, 2))
    return {"logits": net.linear("fc", x, config.classes)}
