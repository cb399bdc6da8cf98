"""mbench's own ShuffleNetV2: at width 2.0, paddle.vision's has fewer channels than the reference.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.images import forward, loss
from mbench_paddle.layers import norm

if TYPE_CHECKING:
    from mbench.workloads.shufflenet import ShuffleNetConfig, Unit

__all__ = ["build", "forward", "loss"]


class ShuffleNetV2(nn.Layer):
    def __init__(self, config: ShuffleNetConfig) -> None:
        super().__init__()
        self.conv1 = nn.Sequential(
            nn.Conv2D(3, config.stem, 3, stride=2, padding=1, bias_attr=False),
            norm(config, config.stem),
            nn.ReLU(),
        )
        self.maxpool = nn.MaxPool2D(3, stride=2, padding=1)
        self.stage2, self.stage3, self.stage4 = (
            nn.Sequential(*(block(config, unit) for unit in stage)) for stage in config.stages()
        )
        self.conv5 = nn.Sequential(
            nn.Conv2D(config.widths[-1], config.last, 1, bias_attr=False),
            norm(config, config.last),
            nn.ReLU(),
        )
        self.fc = nn.Linear(config.last, config.classes)

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, K)."""
        x = self.maxpool(self.conv1(images))
        x = self.stage4(self.stage3(self.stage2(x)))
        return self.fc(self.conv5(x).mean([2, 3]))


class InvertedResidual(nn.Layer):
    """Works on the second half of the channels."""

    def __init__(self, config: ShuffleNetConfig, unit: Unit) -> None:
        super().__init__()
        self.branch2 = branch(config, unit)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        kept, used = x.chunk(2, axis=1)
        return F.channel_shuffle(paddle.concat([kept, self.branch2(used)], axis=1), 2)


class Downsampling(nn.Layer):
    """Two branches with stride 2, each of which computes half of the channels."""

    def __init__(self, config: ShuffleNetConfig, unit: Unit) -> None:
        super().__init__()
        inputs, half = unit.inputs, unit.half
        self.branch1 = nn.Sequential(
            *depthwise(config, inputs, stride=unit.stride), *pointwise(config, inputs, half)
        )
        self.branch2 = branch(config, unit)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return F.channel_shuffle(paddle.concat([self.branch1(x), self.branch2(x)], axis=1), 2)


def block(config: ShuffleNetConfig, unit: Unit) -> nn.Layer:
    return (InvertedResidual if unit.stride == 1 else Downsampling)(config, unit)


def branch(config: ShuffleNetConfig, unit: Unit) -> nn.Layer:
    return nn.Sequential(
        *pointwise(config, unit.taken, unit.half),
        *depthwise(config, unit.half, stride=unit.stride),
        *pointwise(config, unit.half, unit.half),
    )


def pointwise(config: ShuffleNetConfig, inputs: int, outputs: int) -> tuple[nn.Layer, ...]:
    return nn.Conv2D(inputs, outputs, 1, bias_attr=False), norm(config, outputs), nn.ReLU()


def depthwise(config: ShuffleNetConfig, channels: int, *, stride: int) -> tuple[nn.Layer, ...]:
    convolution = nn.Conv2D(
        channels, channels, 3, stride=stride, padding=1, groups=channels, bias_attr=False
    )
    return convolution, norm(config, channels)


def build(config: ShuffleNetConfig) -> nn.Layer:
    return ShuffleNetV2(config)
