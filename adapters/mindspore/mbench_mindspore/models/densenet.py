"""DenseNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from mindspore import nn, ops

from mbench_mindspore.images import forward, loss
from mbench_mindspore.layers import AveragePool, Conv2d, Dense, MaxPool, norm, pixels

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads.densenet import DenseNetConfig

__all__ = ["build", "forward", "loss"]


class DenseNet(nn.Cell):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__()
        channels = config.stem
        layers = OrderedDict(
            conv0=Conv2d(3, channels, 7, stride=2),
            norm0=norm(config, channels),
            relu0=nn.ReLU(),
            pool0=MaxPool(3, padding=1),
        )
        for block, depth in enumerate(config.blocks, start=1):
            if block > 1:
                layers[f"transition{block - 1}"] = transition(config, channels)
                channels //= 2
            layers[f"denseblock{block}"] = dense_block(config, channels, depth)
            channels += depth * config.growth
        layers["norm5"] = norm(config, channels)
        self.features = nn.SequentialCell(layers)
        self.classifier = Dense(channels, config.classes)

    def construct(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(ops.relu(self.features(images))))


class DenseLayer(nn.Cell):
    """Adds `growth` channels to those that it is given."""

    def __init__(self, config: DenseNetConfig, channels: int) -> None:
        super().__init__()
        inner = config.bottleneck * config.growth
        self.norm1 = norm(config, channels)
        self.conv1 = Conv2d(channels, inner, 1)
        self.norm2 = norm(config, inner)
        self.conv2 = Conv2d(inner, config.growth, 3)

    def construct(self, x: Tensor) -> Tensor:
        new = self.conv1(ops.relu(self.norm1(x)))
        new = self.conv2(ops.relu(self.norm2(new)))
        return ops.cat((x, new), axis=1)


def dense_block(config: DenseNetConfig, channels: int, depth: int) -> nn.Cell:
    return nn.SequentialCell(
        OrderedDict(
            (f"denselayer{layer + 1}", DenseLayer(config, channels + layer * config.growth))
            for layer in range(depth)
        )
    )


def transition(config: DenseNetConfig, channels: int) -> nn.Cell:
    """Halves channels, height and width."""
    return nn.SequentialCell(
        OrderedDict(
            norm=norm(config, channels),
            relu=nn.ReLU(),
            conv=Conv2d(channels, channels // 2, 1),
            pool=AveragePool(2, stride=2),
        )
    )


def build(config: DenseNetConfig) -> nn.Cell:
    return DenseNet(config)
