"""MobileNetV2; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from megengine import module as M

from mbench_megengine.images import forward, loss
from mbench_megengine.layers import Dropout, ReLU6, conv, norm, pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mobilenet import MobileNetConfig

__all__ = ["build", "forward", "loss"]


class MobileNetV2(M.Module):
    def __init__(self, config: MobileNetConfig) -> None:
        super().__init__()
        layers, inputs = [activated(config, 3, config.stem, 3, stride=2)], config.stem
        for plan in config.blocks():
            layers.append(InvertedResidual(config, plan))
            inputs = plan.outputs
        layers.append(activated(config, inputs, config.last, 1))
        self.features = M.Sequential(*layers)
        self.classifier = M.Sequential(
            Dropout(config.dropout), M.Linear(config.last, config.classes)
        )

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(self.features(images)))


class InvertedResidual(M.Module):
    """1x1 to more channels if it expands, depthwise 3x3, 1x1 to fewer."""

    def __init__(self, config: MobileNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__()
        inner, outputs, stride = plan.inner, plan.outputs, plan.stride
        layers = [activated(config, plan.inputs, inner, 1)] if plan.expands else []
        layers.append(activated(config, inner, inner, plan.kernel, stride=stride, groups=inner))
        self.conv = M.Sequential(*layers, conv(inner, outputs, 1), norm(config, outputs))
        self.summed = plan.summed

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        return x + y if self.summed else y


def activated(
    config: MobileNetConfig, inputs: int, outputs: int, kernel: int, **options: Any
) -> M.Module:
    return M.Sequential(conv(inputs, outputs, kernel, **options), norm(config, outputs), ReLU6())


def build(config: MobileNetConfig) -> M.Module:
    return MobileNetV2(config)
