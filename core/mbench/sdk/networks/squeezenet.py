"""SqueezeNet; names as in torchvision's.

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

    def conv(name: str, x: Array, *shape: int, **settings: int) -> Array:
        return net.relu(net.conv(name, x, *shape, bias=True, **settings))

    x = conv("features.0", batch["images"], config.stem, config.kernel, stride=2, padding=0)
    number = 3
    for group in config.groups:
        x = net.max_pool(x, 3, ceil=True)
        for fire in group:
            at = f"features.{number}"
            x = conv(f"{at}.squeeze", x, fire.squeeze)
            x = net.joined(*(conv(f"{at}.expand{k}x{k}", x, fire.expand, k) for k in (1, 3)))
            number += 1
        number += 1  # the pooling
    x = conv("classifier.1", net.dropout(x, config.dropout), config.classes)
    return {"logits": net.pixels(x)}
