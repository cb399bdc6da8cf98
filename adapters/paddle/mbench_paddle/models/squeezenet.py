"""mbench's own SqueezeNet: in paddle.vision's, no pooling window extends past the edge.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.images import forward, loss

if TYPE_CHECKING:
    from mbench.workloads.squeezenet import Fire as FireConfig
    from mbench.workloads.squeezenet import SqueezeNetConfig

__all__ = ["build", "forward", "loss"]


class SqueezeNet(nn.Layer):
    def __init__(self, config: SqueezeNetConfig) -> None:
        super().__init__()
        layers = [nn.Conv2D(3, config.stem, config.kernel, stride=2), nn.ReLU()]
        inputs = config.stem
        for group in config.groups:
            layers.append(nn.MaxPool2D(3, stride=2, ceil_mode=True))
            for fire in group:
                layers.append(Fire(fire, inputs))
                inputs = 2 * fire.expand
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(config.dropout),
            nn.Conv2D(inputs, config.classes, 1),
            nn.ReLU(),
        )

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(self.features(images)).mean([2, 3])


class Fire(nn.Layer):
    def __init__(self, config: FireConfig, inputs: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2D(inputs, config.squeeze, 1)
        self.expand1x1 = nn.Conv2D(config.squeeze, config.expand, 1)
        self.expand3x3 = nn.Conv2D(config.squeeze, config.expand, 3, padding=1)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = F.relu(self.squeeze(x))
        return paddle.concat([F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))], axis=1)


def build(config: SqueezeNetConfig) -> nn.Layer:
    return SqueezeNet(config)
