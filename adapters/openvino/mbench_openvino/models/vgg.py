"""VGG, with and without batch norm; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.workloads.vgg import HIDDEN, POOLED

if TYPE_CHECKING:
    from mbench_openvino.layers import Net, Value

__all__ = ["forward"]


def forward(net: Net, batch: dict[str, Value]) -> dict[str, Value]:
    """images (B, 3, H, W) -> logits (B, K)."""
    config, x, number = net.config, batch["images"], 0
    for blocks, width in zip(config.blocks, config.widths, strict=True):
        for _ in range(blocks):
            x = net.conv(f"features.{number}", x, width, 3, bias=True)
            x = net.relu(net.norm(f"features.{number + 1}", x) if config.batch_norm else x)
            number += 3 if config.batch_norm else 2
        x = net.max_pool(x, 2)
        number += 1  # the pooling
    x = net.flatten(net.regions(x, POOLED))
    for number in (0, 3):
        x = net.relu(net.linear(f"classifier.{number}", x, HIDDEN))
    return {"logits": net.linear("classifier.6", x, config.classes)}
