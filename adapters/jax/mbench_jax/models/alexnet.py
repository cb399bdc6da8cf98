"""AlexNet; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from jax.nn import relu

from mbench.workloads.alexnet import POOLED
from mbench_jax.images import DIFFERENCES, loss
from mbench_jax.layers import Array, Net, Tensors, flatten, max_pool, regions

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    config, x = net.config, batch["images"]

    def conv(number: int, x: Array, *shape: int, **settings: int) -> Array:
        return relu(net.conv(f"features.{number}", x, *shape, bias=True, **settings))

    first, second, third, fourth, fifth = config.widths
    x = max_pool(conv(0, x, first, 11, stride=4, padding=2), 3)
    x = max_pool(conv(3, x, second, 5), 3)
    x = conv(8, conv(6, x, third, 3), fourth, 3)
    x = max_pool(conv(10, x, fifth, 3), 3)
    x = net.dropout(flatten(regions(x, POOLED)), config.dropout)
    x = net.dropout(relu(net.linear("classifier.1", x, config.hidden)), config.dropout)
    x = relu(net.linear("classifier.4", x, config.hidden))
    return {"logits": net.linear("classifier.6", x, config.classes)}
