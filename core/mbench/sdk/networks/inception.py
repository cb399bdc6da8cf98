"""Inception v3, with its auxiliary head; names as in torchvision's.

Shapes: B batch, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.sdk.networks.mixed import classified, through
from mbench.workloads.inception import auxiliary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net
    from mbench.workloads.branches import Head

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K); in training, also those of auxiliary heads."""
    return classified(net, batch["images"], auxiliary_logits)


def auxiliary_logits(net: Net[Array], head: Head, x: Array) -> Array:
    """Logits (B, K) from activations in the middle of the network."""
    x = net.pixels(through(net, f"{head.name}.", auxiliary(head.inputs), x))
    return net.linear(f"{head.name}.fc", x, net.config.classes)
