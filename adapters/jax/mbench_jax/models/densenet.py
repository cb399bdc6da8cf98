"""DenseNet; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax.nn import relu

from mbench_jax.images import DIFFERENCES, loss
from mbench_jax.layers import Array, Net, Tensors, max_pool, mean_pool

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config = net.config

    def activated(name: str, x: Array) -> Array:
        return relu(net.norm(f"features.{name}", x))

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
            x = jnp.concatenate((x, y), axis=-1)
    x = activated("norm5", x).mean((1, 2))
    return {"logits": net.linear("classifier", x, config.classes)}
