"""ResNet, including wide and grouped ones; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import nn, ops

from mbench_mindspore.images import forward, loss
from mbench_mindspore.layers import Conv2d, Dense, MaxPool, norm, pixels

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads.resnet import ResNetConfig

__all__ = ["build", "forward", "loss"]


class ResNet(nn.Cell):
    def __init__(self, config: ResNetConfig) -> None:
        super().__init__()
        self.conv1 = Conv2d(3, config.stem, 7, stride=2)
        self.bn1 = norm(config, config.stem)
        self.pool = MaxPool(3, padding=1)
        kind = Bottleneck if config.bottleneck else Basic
        inputs = config.stem
        stages = []
        for stage, (blocks, width) in enumerate(zip(config.blocks, config.widths, strict=True)):
            made = []
            for number in range(blocks):
                stride = 2 if stage > 0 and number == 0 else 1
                made.append(kind(config, inputs, width, stride))
                inputs = width * config.expansion
            setattr(self, f"layer{stage + 1}", nn.SequentialCell(made))
            stages.append(f"layer{stage + 1}")
        self.stages = tuple(stages)
        self.fc = Dense(inputs, config.classes)

    def construct(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        x = self.pool(ops.relu(self.bn1(self.conv1(images))))
        for name in self.stages:
            x = getattr(self, name)(x)
        return self.fc(pixels(x))


class Basic(nn.Cell):
    """Two 3x3 convolutions, the first with the stride."""

    def __init__(self, config: ResNetConfig, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = Conv2d(inputs, width, 3, stride=stride)
        self.bn1 = norm(config, width)
        self.conv2 = Conv2d(width, width, 3)
        self.bn2 = norm(config, width)
        self.downsample = shortcut(config, inputs, width, stride)

    def construct(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(ops.relu(self.bn1(self.conv1(x)))))
        return ops.relu(self.downsample(x) + y)


class Bottleneck(nn.Cell):
    """1x1, 3x3 with the stride, 1x1; in v1 the first has the stride."""

    def __init__(self, config: ResNetConfig, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        inner, outputs = config.inner(width), width * config.expansion
        first, second = (stride, 1) if config.stride_first else (1, stride)
        self.conv1 = Conv2d(inputs, inner, 1, stride=first)
        self.bn1 = norm(config, inner)
        self.conv2 = Conv2d(inner, inner, 3, stride=second, groups=config.groups)
        self.bn2 = norm(config, inner)
        self.conv3 = Conv2d(inner, outputs, 1)
        self.bn3 = norm(config, outputs)
        self.downsample = shortcut(config, inputs, outputs, stride)

    def construct(self, x: Tensor) -> Tensor:
        y = ops.relu(self.bn1(self.conv1(x)))
        y = ops.relu(self.bn2(self.conv2(y)))
        return ops.relu(self.downsample(x) + self.bn3(self.conv3(y)))


def shortcut(config: ResNetConfig, inputs: int, outputs: int, stride: int) -> nn.Cell:
    if stride == 1 and inputs == outputs:
        return nn.SequentialCell()
    return nn.SequentialCell(Conv2d(inputs, outputs, 1, stride=stride), norm(config, outputs))


def build(config: ResNetConfig) -> nn.Cell:
    return ResNet(config)
