"""MobileNetV2; names as in torchvision's.

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

    def normed(at: str, x: Value, *shape: int, **settings: int) -> Value:
        return net.relu6(net.normed(f"{at}.0", f"{at}.1", x, *shape, **settings))

    x, number = normed("features.0", batch["images"], config.stem, 3, stride=2), 1
    for stack in config.stacks:
        for block in range(stack.repeats):
            # 1x1 to more channels if there are to be more, depthwise 3x3, 1x1 to fewer.
            y, at, part = x, f"features.{number}.conv", 0
            inner, stride = x.shape[1] * stack.expansion, 1 if block else stack.stride
            if stack.expansion > 1:
                y, part = normed(f"{at}.0", y, inner), 1
            y = normed(f"{at}.{part}", y, inner, 3, stride=stride, groups=inner)
            y = net.normed(f"{at}.{part + 1}", f"{at}.{part + 2}", y, stack.outputs)
            x = net.sum(x, y) if x.shape == y.shape else y
            number += 1
    x = net.mean(normed(f"features.{number}", x, config.last))
    return {"logits": net.linear("classifier.1", x, config.classes)}
