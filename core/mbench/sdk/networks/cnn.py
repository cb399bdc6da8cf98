"""The small convolutional network; names as in mbench.workloads.cnn.

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
    config, x = net.config, batch["images"]
    for number, channels in enumerate((config.first, config.second), start=1):
        x = net.relu(net.normed(f"conv{number}", f"bn{number}", x, channels, 3))
        x = net.max_pool(x, 2)
    return {"logits": net.linear("fc", net.flat(x), config.classes)}
