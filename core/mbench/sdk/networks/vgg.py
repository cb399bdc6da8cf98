"""VGG, with and without batch norm; names as in torchvision's.

Shapes: B batch, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.compat import zipped
from mbench.workloads.vgg import HIDDEN, POOLED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K)."""
    config, x, number = net.config, batch["images"], 0
    for blocks, width in zipped(config.blocks, config.widths):
        for _ in range(blocks):
            x = net.conv(f"features.{number}", x, width, 3, bias=True)
            x = net.relu(net.norm(f"features.{number + 1}", x) if config.batch_norm else x)
            number += 3 if config.batch_norm else 2
        x = net.max_pool(x, 2)
        number += 1  # the pooling
    x = net.flat(net.regions(x, POOLED))
    for number in (0, 3):
        x = net.dropout(net.relu(net.linear(f"classifier.{number}", x, HIDDEN)), config.dropout)
    return {"logits": net.linear("classifier.6", x, config.classes)}
