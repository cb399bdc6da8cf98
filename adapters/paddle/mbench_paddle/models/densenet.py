"""DenseNet, since paddle.vision's batch norms are an older layer that holds its ReLU.

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
    from mbench.workloads.densenet import DenseNetConfig

__all__ = ["build", "forward", "loss"]


class DenseNet(nn.Layer):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__()
        channels = config.stem
        layers: list[tuple[str, nn.Layer]] = [
            ("conv0", nn.Conv2D(3, channels, 7, stride=2, padding=3, bias_attr=False)),
            ("norm0", norm(config, channels)),
            ("relu0", nn.ReLU()),
            ("pool0", nn.MaxPool2D(3, stride=2, padding=1)),
        ]
        for block, depth in enumerate(config.blocks, start=1):
            layers.append((f"denseblock{block}", dense_block(config, channels, depth)))
            channels += depth * config.growth
            if block < len(config.blocks):
                layers.append((f"transition{block}", transition(config, channels)))
                channels //= 2
        layers.append(("norm5", norm(config, channels)))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, config.classes)

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(F.relu(self.features(images)).mean([2, 3]))


class DenseLayer(nn.Layer):
    """Adds `growth` channels to those that it is given."""

    def __init__(self, config: DenseNetConfig, channels: int) -> None:
        super().__init__()
        inner = config.bottleneck * config.growth
        self.norm1 = norm(config, channels)
        self.conv1 = nn.Conv2D(channels, inner, 1, bias_attr=False)
        self.norm2 = norm(config, inner)
        self.conv2 = nn.Conv2D(inner, config.growth, 3, padding=1, bias_attr=False)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        new = self.conv1(F.relu(self.norm1(x)))
        new = self.conv2(F.relu(self.norm2(new)))
        return paddle.concat([x, new], axis=1)


def dense_block(config: DenseNetConfig, channels: int, depth: int) -> nn.Sequential:
    return nn.Sequential(
        *(
            (f"denselayer{layer + 1}", DenseLayer(config, channels + layer * config.growth))
            for layer in range(depth)
        )
    )


def transition(config: DenseNetConfig, channels: int) -> nn.Sequential:
    """Halves channels, height and width."""
    return nn.Sequential(
        ("norm", norm(config, channels)),
        ("relu", nn.ReLU()),
        ("conv", nn.Conv2D(channels, channels // 2, 1, bias_attr=False)),
        ("pool", nn.AvgPool2D(2, stride=2)),
    )


def build(config: DenseNetConfig) -> nn.Layer:
    return DenseNet(config)
