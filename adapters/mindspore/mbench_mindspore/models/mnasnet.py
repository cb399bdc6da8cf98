"""MnasNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindspore import nn

from mbench.workloads.mnasnet import LAST
from mbench_mindspore.images import forward, loss
from mbench_mindspore.layers import Conv2d, Dense, Dropout, norm, pixels

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mnasnet import MnasNetConfig

__all__ = ["build", "forward", "loss"]


class MnasNet(nn.Cell):
    def __init__(self, config: MnasNetConfig) -> None:
        super().__init__()
        stem, inputs = config.stem, config.separable
        layers = [
            *normed(config, 3, stem, 3, stride=2),
            nn.ReLU(),
            *normed(config, stem, stem, 3, groups=stem),
            nn.ReLU(),
            *normed(config, stem, inputs, 1),
        ]
        for stage in config.stages():
            layers.append(nn.SequentialCell([InvertedResidual(config, plan) for plan in stage]))
            inputs = stage[-1].outputs
        self.layers = nn.SequentialCell([*layers, *normed(config, inputs, LAST, 1), nn.ReLU()])
        self.classifier = nn.SequentialCell(Dropout(config.dropout), Dense(LAST, config.classes))

    def construct(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(self.layers(images)))


class InvertedResidual(nn.Cell):
    """1x1 to more channels, depthwise, 1x1 to fewer, without ReLU at the end."""

    def __init__(self, config: MnasNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__()
        inner, stride = plan.inner, plan.stride
        self.layers = nn.SequentialCell(
            *normed(config, plan.inputs, inner, 1),
            nn.ReLU(),
            *normed(config, inner, inner, plan.kernel, stride=stride, groups=inner),
            nn.ReLU(),
            *normed(config, inner, plan.outputs, 1),
        )
        self.summed = plan.summed

    def construct(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        return x + y if self.summed else y


def normed(
    config: MnasNetConfig, inputs: int, outputs: int, kernel: int, **options: Any
) -> tuple[nn.Cell, nn.Cell]:
    return Conv2d(inputs, outputs, kernel, **options), norm(config, outputs)


def build(config: MnasNetConfig) -> nn.Cell:
    return MnasNet(config)
