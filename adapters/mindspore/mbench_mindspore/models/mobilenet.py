"""MobileNetV2; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindspore import nn

from mbench_mindspore.images import forward, loss
from mbench_mindspore.layers import Conv2d, Dense, Dropout, ReLU6, norm, pixels

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mobilenet import MobileNetConfig

__all__ = ["build", "forward", "loss"]


class MobileNetV2(nn.Cell):
    def __init__(self, config: MobileNetConfig) -> None:
        super().__init__()
        layers, inputs = [activated(config, 3, config.stem, 3, stride=2)], config.stem
        for plan in config.blocks():
            layers.append(InvertedResidual(config, plan))
            inputs = plan.outputs
        layers.append(activated(config, inputs, config.last, 1))
        self.features = nn.SequentialCell(layers)
        self.classifier = nn.SequentialCell(
            Dropout(config.dropout), Dense(config.last, config.classes)
        )

    def construct(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(self.features(images)))


class InvertedResidual(nn.Cell):
    """1x1 to more channels if it expands, depthwise 3x3, 1x1 to fewer."""

    def __init__(self, config: MobileNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__()
        inner, outputs, stride = plan.inner, plan.outputs, plan.stride
        layers = [activated(config, plan.inputs, inner, 1)] if plan.expands else []
        layers.append(activated(config, inner, inner, plan.kernel, stride=stride, groups=inner))
        self.conv = nn.SequentialCell([*layers, Conv2d(inner, outputs, 1), norm(config, outputs)])
        self.summed = plan.summed

    def construct(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        return x + y if self.summed else y


def activated(
    config: MobileNetConfig, inputs: int, outputs: int, kernel: int, **options: Any
) -> nn.Cell:
    return nn.SequentialCell(
        Conv2d(inputs, outputs, kernel, **options), norm(config, outputs), ReLU6()
    )


def build(config: MobileNetConfig) -> nn.Cell:
    return MobileNetV2(config)
