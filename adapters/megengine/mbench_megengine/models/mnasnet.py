"""MnasNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import module as M

from mbench.workloads.mnasnet import LAST
from mbench_megengine.images import forward, loss
from mbench_megengine.layers import Dropout, conv, norm, pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.mnasnet import MnasNetConfig, Stack

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
        for stack in config.stacks:
            blocks = []
            for block in range(stack.repeats):
                stride = 1 if block else stack.stride
                blocks.append(InvertedResidual(config, stack, inputs, stride))
                inputs = stack.outputs
            layers.append(M.Sequential(*blocks))
        self.layers = M.Sequential(*layers, *normed(config, inputs, LAST, 1), M.ReLU())
        self.classifier = M.Sequential(Dropout(config.dropout), M.Linear(LAST, config.classes))

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(self.layers(images)))


class InvertedResidual(M.Module):
    """1x1 to more channels, depthwise, 1x1 to fewer, without ReLU at the end."""

    def __init__(self, config: MnasNetConfig, stack: Stack, inputs: int, stride: int) -> None:
        super().__init__()
        inner = inputs * stack.expansion
        self.layers = M.Sequential(
            *normed(config, inputs, inner, 1),
            M.ReLU(),
            *normed(config, inner, inner, stack.kernel, stride=stride, groups=inner),
            M.ReLU(),
            *normed(config, inner, stack.outputs, 1),
        )
        self.summed = stride == 1 and inputs == stack.outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        return x + y if self.summed else y


def normed(
    config: MnasNetConfig, inputs: int, outputs: int, kernel: int, **options: int
) -> tuple[M.Module, M.Module]:
    return conv(inputs, outputs, kernel, **options), norm(config, outputs)


def build(config: MnasNetConfig) -> M.Module:
    return MnasNet(config)
