"""MnasNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from megengine import module as M

from mbench.workloads.mnasnet import LAST
from mbench_megengine.images import forward, loss
from mbench_megengine.layers import Dropout, conv, norm, pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mnasnet import MnasNetConfig

__all__ = ["build", "forward", "loss"]


class MnasNet(M.Module):
    def __init__(self, config: MnasNetConfig) -> None:
        super().__init__()
        stem, inputs = config.stem, config.separable
        layers = [
            *normed(config, 3, stem, 3, stride=2),
            M.ReLU(),
            *normed(config, stem, stem, 3, groups=stem),
            M.ReLU(),
            *normed(config, stem, inputs, 1),
        ]
        for stage in config.stages():
            layers.append(M.Sequential(*(InvertedResidual(config, plan) for plan in stage)))
            inputs = stage[-1].outputs
        self.layers = M.Sequential(*layers, *normed(config, inputs, LAST, 1), M.ReLU())
        self.classifier = M.Sequential(Dropout(config.dropout), M.Linear(LAST, config.classes))

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(self.layers(images)))


class InvertedResidual(M.Module):
    """1x1 to more channels, depthwise, 1x1 to fewer, without ReLU at the end."""

    def __init__(self, config: MnasNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__()
        inner, stride = plan.inner, plan.stride
        self.layers = M.Sequential(
            *normed(config, plan.inputs, inner, 1),
            M.ReLU(),
            *normed(config, inner, inner, plan.kernel, stride=stride, groups=inner),
            M.ReLU(),
            *normed(config, inner, plan.outputs, 1),
        )
        self.summed = plan.summed

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        return x + y if self.summed else y


def normed(
    config: MnasNetConfig, inputs: int, outputs: int, kernel: int, **options: Any
) -> tuple[M.Module, M.Module]:
    return conv(inputs, outputs, kernel, **options), norm(config, outputs)


def build(config: MnasNetConfig) -> M.Module:
    return MnasNet(config)
