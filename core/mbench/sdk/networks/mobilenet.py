"""MobileNetV2; names as in torchvision's.

Shapes: B batch, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K)."""
    config = net.config

    def normed(at: str, x: Array, *shape: int, **settings: int) -> Array:
        return net.relu6(net.normed(f"{at}.0", f"{at}.1", x, *shape, **settings))

    x = normed("features.0", batch["images"], config.stem, 3, stride=2)
    for block in config.blocks():
        y, at, inner, number = x, block.name, block.inner, 0
        if block.expands:
            y, number = normed(f"{at}.0", y, inner), 1
        y = normed(f"{at}.{number}", y, inner, block.kernel, stride=block.stride, groups=inner)
        y = net.normed(f"{at}.{number + 1}", f"{at}.{number + 2}", y, block.outputs)
        x = net.sum(x, y) if block.summed else y
    x = net.dropout(net.pixels(normed(config.last_name, x, config.last)), config.dropout)
    return {"logits": net.linear("classifier.1", x, config.classes)}
