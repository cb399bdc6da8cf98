"""ResNet, wide and grouped ones too; names as in torchvision's.

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
    x = net.relu(net.normed("conv1", "bn1", batch["images"], config.stem, 7, stride=2))
    x = net.max_pool(x, 3, padding=1)  # (B, C, H/4, W/4)
    block = bottleneck if config.bottleneck else basic
    for stage, (blocks, width) in enumerate(zip(config.blocks, config.widths, strict=True), 1):
        for number in range(blocks):
            at, stride = f"layer{stage}.{number}", 2 if stage > 1 and number == 0 else 1
            y = block(net, at, x, width, stride)
            if x.shape != y.shape:
                names = f"{at}.downsample.0", f"{at}.downsample.1"
                x = net.normed(*names, x, y.shape[1], stride=stride)
            x = net.relu(net.sum(x, y))
    return {"logits": net.linear("fc", net.mean(x), config.classes)}


def basic(net: Net, at: str, x: Value, width: int, stride: int) -> Value:
    """Two of 3x3, the first with the stride."""
    x = net.relu(net.normed(f"{at}.conv1", f"{at}.bn1", x, width, 3, stride=stride))
    return net.normed(f"{at}.conv2", f"{at}.bn2", x, width, 3)


def bottleneck(net: Net, at: str, x: Value, width: int, stride: int) -> Value:
    """1x1, 3x3 with the stride, 1x1; in v1 the first has the stride."""
    config, inner = net.config, net.config.inner(width)
    first, second = (stride, 1) if config.stride_first else (1, stride)
    groups = config.groups
    x = net.relu(net.normed(f"{at}.conv1", f"{at}.bn1", x, inner, stride=first))
    x = net.relu(net.normed(f"{at}.conv2", f"{at}.bn2", x, inner, 3, stride=second, groups=groups))
    return net.normed(f"{at}.conv3", f"{at}.bn3", x, width * config.expansion)
