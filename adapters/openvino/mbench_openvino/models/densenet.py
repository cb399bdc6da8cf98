"""DenseNet; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbench_openvino.layers import Net, Value

__all__ = ["forward"]


def forward(net: Net, batch: dict[str, Value]) -> dict[str, Value]:
    """images (B, 3, H, W) -> logits (B, K)."""
    config = net.config

    def activated(name: str, x: Value) -> Value:
        return net.relu(net.norm(f"features.{name}", x))

    x = net.conv("features.conv0", batch["images"], config.stem, 7, stride=2)  # (B, C, H/2, W/2)
    x = net.max_pool(activated("norm0", x), 3, padding=1)  # (B, C, H/4, W/4)
    for block, depth in enumerate(config.blocks, 1):
        if block > 1:
            at = f"transition{block - 1}"
            x = net.conv(f"features.{at}.conv", activated(f"{at}.norm", x), x.shape[1] // 2)
            x = net.mean_pool(x, 2)
        for layer in range(1, depth + 1):
            at, inner = f"denseblock{block}.denselayer{layer}", config.bottleneck * config.growth
            y = net.conv(f"features.{at}.conv1", activated(f"{at}.norm1", x), inner)
            y = net.conv(f"features.{at}.conv2", activated(f"{at}.norm2", y), config.growth, 3)
            x = net.joined(x, y)
    x = net.mean(activated("norm5", x))
    return {"logits": net.linear("classifier", x, config.classes)}
