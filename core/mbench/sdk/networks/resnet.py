"""ResNet, including wide and grouped ones; names as in torchvision's.

Shapes: B batch, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.compat import zipped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """images -> logits (B, K)."""
    config = net.config
    x = net.relu(net.normed("conv1", "bn1", batch["images"], config.stem, 7, stride=2))
    x = net.max_pool(x, 3, padding=1)
    block = bottleneck if config.bottleneck else basic
    for stage, (blocks, width) in enumerate(zipped(config.blocks, config.widths), 1):
        for number in range(blocks):
            at, stride = f"layer{stage}.{number}", 2 if stage > 1 and number == 0 else 1
            y = block(net, at, x, width, stride)
            if x.shape != y.shape:
                names = f"{at}.downsample.0", f"{at}.downsample.1"
                x = net.normed(*names, x, net.width(y), stride=stride)
            x = net.relu(net.sum(x, y))
    return {"logits": net.linear("fc", net.pixels(x), config.classes)}


def basic(net: Net[Array], at: str, x: Array, width: int, stride: int) -> Array:
    """Two 3x3 convolutions, the first with the stride."""
    x = net.relu(net.normed(f"{at}.conv1", f"{at}.bn1", x, width, 3, stride=stride))
    return net.normed(f"{at}.conv2", f"{at}.bn2", x, width, 3)


def bottleneck(net: Net[Array], at: str, x: Array, width: int, stride: int) -> Array:
    """1x1, 3x3 with the stride, 1x1; in v1 the first has the stride."""
    config, inner = net.config, net.config.inner(width)
    first, second = (stride, 1) if config.stride_first else (1, stride)
    groups = config.groups
    x = net.relu(net.normed(f"{at}.conv1", f"{at}.bn1", x, inner, stride=first))
    x = net.relu(net.normed(f"{at}.conv2", f"{at}.bn2", x, inner, 3, stride=second, groups=groups))
    return net.normed(f"{at}.conv3", f"{at}.bn3", x, width * config.expansion)
