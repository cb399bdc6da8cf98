"""MnasNet; names as in torchvision's.

Shapes: B batch, C channels, K classes.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from mbench.workloads.mnasnet import LAST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K)."""
    config, x = net.config, batch["images"]

    def normed(at: str, number: int, x: Array, *shape: int, **settings: int) -> Array:
        return net.normed(f"{at}.{number}", f"{at}.{number + 1}", x, *shape, **settings)

    x = net.relu(normed("layers", 0, x, config.stem, 3, stride=2))
    x = net.relu(normed("layers", 3, x, config.stem, 3, groups=config.stem))
    x = normed("layers", 6, x, config.separable)
    for block in itertools.chain.from_iterable(config.stages()):
        at, inner = block.name, block.inner
        y = net.relu(normed(at, 0, x, inner))
        y = normed(at, 3, y, inner, block.kernel, stride=block.stride, groups=inner)
        y = normed(at, 6, net.relu(y), block.outputs)
        x = net.sum(x, y) if block.summed else y
    x = net.dropout(net.pixels(net.relu(normed("layers", 14, x, LAST))), config.dropout)
    return {"logits": net.linear("classifier.1", x, config.classes)}
