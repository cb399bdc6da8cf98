"""DenseNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench_megengine.images import forward, loss
from mbench_megengine.layers import AveragePool, MaxPool, conv, norm, pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.densenet import DenseNetConfig

__all__ = ["build", "forward", "loss"]


class DenseNet(M.Module):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__()
        channels = config.stem
        layers = OrderedDict(
            conv0=conv(3, channels, 7, stride=2),
            norm0=norm(config, channels),
            relu0=M.ReLU(),
            pool0=MaxPool(3, padding=1),
        )
        for block, depth in enumerate(config.blocks, start=1):
            if block > 1:
                layers[f"transition{block - 1}"] = transition(config, channels)
                channels //= 2
            layers[f"denseblock{block}"] = dense_block(config, channels, depth)
            channels += depth * config.growth
        layers["norm5"] = norm(config, channels)
        self.features = M.Sequential(layers)
        self.classifier = M.Linear(channels, config.classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(F.relu(self.features(images))))


class DenseLayer(M.Module):
    """Adds `growth` channels to those that it is given."""

    def __init__(self, config: DenseNetConfig, channels: int) -> None:
        super().__init__()
        inner = config.bottleneck * config.growth
        self.norm1 = norm(config, channels)
        self.conv1 = conv(channels, inner, 1)
        self.norm2 = norm(config, inner)
        self.conv2 = conv(inner, config.growth, 3)

    def forward(self, x: Tensor) -> Tensor:
        new = self.conv1(F.relu(self.norm1(x)))
        new = self.conv2(F.relu(self.norm2(new)))
        return F.concat((x, new), axis=1)


def dense_block(config: DenseNetConfig, channels: int, depth: int) -> M.Module:
    return M.Sequential(
        OrderedDict(
            (f"denselayer{layer + 1}", DenseLayer(config, channels + layer * config.growth))
            for layer in range(depth)
        )
    )


def transition(config: DenseNetConfig, channels: int) -> M.Module:
    """Halves channels, height and width."""
    return M.Sequential(
        OrderedDict(
            norm=norm(config, channels),
            relu=M.ReLU(),
            conv=conv(channels, channels // 2, 1),
            pool=AveragePool(2, stride=2),
        )
    )


def build(config: DenseNetConfig) -> M.Module:
    return DenseNet(config)
