"""ShuffleNetV2; names as in torchvision's.

Shapes: B batch, C channels, K classes.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K)."""
    config = net.config

    def normed(at: str, number: int, x: Array, *shape: int, **settings: int) -> Array:
        return net.normed(f"{at}.{number}", f"{at}.{number + 1}", x, *shape, **settings)

    x = net.relu(normed("conv1", 0, batch["images"], config.stem, 3, stride=2))
    x = net.max_pool(x, 3, padding=1)
    for unit in itertools.chain.from_iterable(config.stages()):
        at, inputs, half, stride = unit.name, unit.inputs, unit.half, unit.stride
        if stride == 1:
            kept, y = net.halves(x)
        else:
            kept = normed(f"{at}.branch1", 0, x, inputs, 3, stride=stride, groups=inputs)
            kept, y = net.relu(normed(f"{at}.branch1", 2, kept, half)), x
        y = net.relu(normed(f"{at}.branch2", 0, y, half))
        y = normed(f"{at}.branch2", 3, y, half, 3, stride=stride, groups=half)
        y = net.relu(normed(f"{at}.branch2", 5, y, half))
        x = net.interleaved(kept, y)
    x = net.pixels(net.relu(normed("conv5", 0, x, config.last)))
    return {"logits": net.linear("fc", x, config.classes)}
