"""AlexNet; names as in torchvision's.

Shapes: B batch, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.workloads.alexnet import POOLED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K)."""
    config, x = net.config, batch["images"]

    def conv(number: int, x: Array, *shape: int, **settings: int) -> Array:
        return net.relu(net.conv(f"features.{number}", x, *shape, bias=True, **settings))

    first, second, third, fourth, fifth = config.widths
    x = net.max_pool(conv(0, x, first, 11, stride=4, padding=2), 3)
    x = net.max_pool(conv(3, x, second, 5), 3)
    x = conv(8, conv(6, x, third, 3), fourth, 3)
    x = net.flat(net.regions(net.max_pool(conv(10, x, fifth, 3), 3), POOLED))
    for number in (1, 4):
        x = net.dropout(x, config.dropout)
        x = net.relu(net.linear(f"classifier.{number}", x, config.hidden))
    return {"logits": net.linear("classifier.6", x, config.classes)}
