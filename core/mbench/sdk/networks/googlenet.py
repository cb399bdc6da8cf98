"""GoogLeNet, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.sdk.networks.mixed import classified, through
from mbench.workloads.googlenet import AUXILIARY_SIDE, HIDDEN, auxiliary

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
    config, at = net.config, head.name
    x = net.flat(through(net, f"{at}.", [auxiliary(head.inputs)], net.regions(x, AUXILIARY_SIDE)))
    x = net.dropout(net.relu(net.linear(f"{at}.fc1", x, HIDDEN)), config.auxiliary_dropout)
    return net.linear(f"{at}.fc2", x, config.classes)
