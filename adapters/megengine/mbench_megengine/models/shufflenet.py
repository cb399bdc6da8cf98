"""ShuffleNetV2; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench.contract.compat import zipped
from mbench_megengine.images import forward, loss
from mbench_megengine.layers import MaxPool, conv, norm, pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.shufflenet import ShuffleNetConfig

__all__ = ["build", "forward", "loss"]


class ShuffleNetV2(M.Module):
    def __init__(self, config: ShuffleNetConfig) -> None:
        super().__init__()
        self.conv1 = M.Sequential(
            conv(3, config.stem, 3, stride=2), norm(config, config.stem), M.ReLU()
        )
        self.maxpool = MaxPool(3, padding=1)
        widths = (config.stem, *config.widths)
        self.stage2, self.stage3, self.stage4 = (
            M.Sequential(
                Downsampling(config, inputs, width),
                *(InvertedResidual(config, width) for _ in range(blocks - 1)),
            )
            for blocks, inputs, width in zipped(config.blocks, widths[:-1], config.widths)
        )
        self.conv5 = M.Sequential(*pointwise(config, widths[-1], config.last))
        self.fc = M.Linear(config.last, config.classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        x = self.maxpool(self.conv1(images))
        x = self.stage4(self.stage3(self.stage2(x)))
        return self.fc(pixels(self.conv5(x)))


class InvertedResidual(M.Module):
    """Works on the second half of the channels."""

    def __init__(self, config: ShuffleNetConfig, width: int) -> None:
        super().__init__()
        self.branch2 = branch(config, width // 2, width // 2, stride=1)

    def forward(self, x: Tensor) -> Tensor:
        kept, used = F.split(x, 2, axis=1)
        return shuffled(kept, self.branch2(used))


class Downsampling(M.Module):
    """Two branches of stride 2, each of which makes half of the channels."""

    def __init__(self, config: ShuffleNetConfig, inputs: int, width: int) -> None:
        super().__init__()
        self.branch1 = M.Sequential(
            *depthwise(config, inputs, stride=2), *pointwise(config, inputs, width // 2)
        )
        self.branch2 = branch(config, inputs, width // 2, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return shuffled(self.branch1(x), self.branch2(x))


def shuffled(x: Tensor, y: Tensor) -> Tensor:
    """Both (B, C, H, W) -> (B, 2 C, H, W): a channel of the one, one of the other, and so on."""
    batch, channels, height, width = x.shape
    return F.stack((x, y), axis=2).reshape((batch, 2 * channels, height, width))


def branch(config: ShuffleNetConfig, inputs: int, outputs: int, *, stride: int) -> M.Module:
    return M.Sequential(
        *pointwise(config, inputs, outputs),
        *depthwise(config, outputs, stride=stride),
        *pointwise(config, outputs, outputs),
    )


def pointwise(config: ShuffleNetConfig, inputs: int, outputs: int) -> tuple[M.Module, ...]:
    return conv(inputs, outputs, 1), norm(config, outputs), M.ReLU()


def depthwise(config: ShuffleNetConfig, channels: int, *, stride: int) -> tuple[M.Module, ...]:
    return conv(channels, channels, 3, stride=stride, groups=channels), norm(config, channels)


def build(config: ShuffleNetConfig) -> M.Module:
    return ShuffleNetV2(config)
