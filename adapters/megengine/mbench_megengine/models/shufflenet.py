"""ShuffleNetV2; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench_megengine.images import forward, loss
from mbench_megengine.layers import MaxPool, conv, norm, pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.shufflenet import ShuffleNetConfig, Unit

__all__ = ["build", "forward", "loss"]


class ShuffleNetV2(M.Module):
    def __init__(self, config: ShuffleNetConfig) -> None:
        super().__init__()
        self.conv1 = M.Sequential(
            conv(3, config.stem, 3, stride=2), norm(config, config.stem), M.ReLU()
        )
        self.maxpool = MaxPool(3, padding=1)
        self.stage2, self.stage3, self.stage4 = (
            M.Sequential(*(block(config, unit) for unit in stage)) for stage in config.stages()
        )
        self.conv5 = M.Sequential(*pointwise(config, config.widths[-1], config.last))
        self.fc = M.Linear(config.last, config.classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        x = self.maxpool(self.conv1(images))
        x = self.stage4(self.stage3(self.stage2(x)))
        return self.fc(pixels(self.conv5(x)))


class InvertedResidual(M.Module):
    """Works on the second half of the channels."""

    def __init__(self, config: ShuffleNetConfig, unit: Unit) -> None:
        super().__init__()
        self.branch2 = branch(config, unit)

    def forward(self, x: Tensor) -> Tensor:
        kept, used = F.split(x, 2, axis=1)
        return shuffled(kept, self.branch2(used))


class Downsampling(M.Module):
    """Two branches with stride 2, each of which computes half of the channels."""

    def __init__(self, config: ShuffleNetConfig, unit: Unit) -> None:
        super().__init__()
        inputs, half = unit.inputs, unit.half
        self.branch1 = M.Sequential(
            *depthwise(config, inputs, stride=unit.stride), *pointwise(config, inputs, half)
        )
        self.branch2 = branch(config, unit)

    def forward(self, x: Tensor) -> Tensor:
        return shuffled(self.branch1(x), self.branch2(x))


def shuffled(x: Tensor, y: Tensor) -> Tensor:
    """Both (B, C, H, W) -> (B, 2 C, H, W): channels of `x` and `y` in alternation."""
    batch, channels, height, width = x.shape
    return F.stack((x, y), axis=2).reshape((batch, 2 * channels, height, width))


def block(config: ShuffleNetConfig, unit: Unit) -> M.Module:
    return (InvertedResidual if unit.stride == 1 else Downsampling)(config, unit)


def branch(config: ShuffleNetConfig, unit: Unit) -> M.Module:
    return M.Sequential(
        *pointwise(config, unit.taken, unit.half),
        *depthwise(config, unit.half, stride=unit.stride),
        *pointwise(config, unit.half, unit.half),
    )


def pointwise(config: ShuffleNetConfig, inputs: int, outputs: int) -> tuple[M.Module, ...]:
    return conv(inputs, outputs, 1), norm(config, outputs), M.ReLU()


def depthwise(config: ShuffleNetConfig, channels: int, *, stride: int) -> tuple[M.Module, ...]:
    return conv(channels, channels, 3, stride=stride, groups=channels), norm(config, channels)


def build(config: ShuffleNetConfig) -> M.Module:
    return ShuffleNetV2(config)
