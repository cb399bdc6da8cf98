"""MnasNet; names as in torchvision's.

Shapes: B batch, H W pixels, C channels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.workloads.mnasnet import LAST

if TYPE_CHECKING:
    from mbench_openvino.layers import Net, Value

__all__ = ["forward"]


def forward(net: Net, batch: dict[str, Value]) -> dict[str, Value]:
    """images (B, 3, H, W) -> logits (B, K)."""
    config, x = net.config, batch["images"]

    def normed(at: str, number: int, x: Value, *shape: int, **settings: int) -> Value:
        return net.normed(f"{at}.{number}", f"{at}.{number + 1}", x, *shape, **settings)

    x = net.relu(normed("layers", 0, x, config.stem, 3, stride=2))
    x = net.relu(normed("layers", 3, x, config.stem, 3, groups=config.stem))
    x = normed("layers", 6, x, config.separable)
    for number, stack in enumerate(config.stacks, 8):
        for block in range(stack.repeats):
            # 1x1 to more channels, depthwise, 1x1 to fewer, without ReLU at the end.
            at, inner = f"layers.{number}.{block}.layers", x.shape[1] * stack.expansion
            stride = 1 if block else stack.stride
            y = net.relu(normed(at, 0, x, inner))
            y = net.relu(normed(at, 3, y, inner, stack.kernel, stride=stride, groups=inner))
            y = normed(at, 6, y, stack.outputs)
            x = net.sum(x, y) if x.shape == y.shape else y
    x = net.mean(net.relu(normed("layers", 14, x, LAST)))
    return {"logits": net.linear("classifier.1", x, config.classes)}
