"""DenseNet; names as in torchvision's.

Shapes: B batch, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.workloads.densenet import Transition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K)."""
    config = net.config

    def activated(name: str, x: Array) -> Array:
        return net.relu(net.norm(f"features.{name}", x))

    x = net.conv("features.conv0", batch["images"], config.stem, 7, stride=2)
    x = net.max_pool(activated("norm0", x), 3, padding=1)
    for part in config.parts():
        at = part.name
        if isinstance(part, Transition):
            x = net.conv(f"features.{at}.conv", activated(f"{at}.norm", x), part.outputs)
            x = net.mean_pool(x, 2)
        else:
            y = net.conv(f"features.{at}.conv1", activated(f"{at}.norm1", x), part.inner)
            y = net.conv(f"features.{at}.conv2", activated(f"{at}.norm2", y), part.growth, 3)
            x = net.joined(x, y)
    x = net.pixels(activated("norm5", x))
    return {"logits": net.linear("classifier", x, config.classes)}
