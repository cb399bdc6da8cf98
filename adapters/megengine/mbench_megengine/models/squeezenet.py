"""SqueezeNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench_megengine.images import forward, loss
from mbench_megengine.layers import Dropout, MaxPool, conv, pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.squeezenet import Fire as FireConfig
    from mbench.workloads.squeezenet import SqueezeNetConfig

__all__ = ["build", "forward", "loss"]


class SqueezeNet(M.Module):
    def __init__(self, config: SqueezeNetConfig) -> None:
        super().__init__()
        layers = [conv(3, config.stem, config.kernel, stride=2, padding=0, bias=True), M.ReLU()]
        inputs = config.stem
        for group in config.groups:
            layers.append(MaxPool(3, ceil=True))
            for fire in group:
                layers.append(Fire(fire, inputs))
                inputs = 2 * fire.expand
        self.features = M.Sequential(*layers)
        self.classifier = M.Sequential(
            Dropout(config.dropout), conv(inputs, config.classes, 1, bias=True), M.ReLU()
        )

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return pixels(self.classifier(self.features(images)))


class Fire(M.Module):
    def __init__(self, config: FireConfig, inputs: int) -> None:
        super().__init__()
        self.squeeze = conv(inputs, config.squeeze, 1, bias=True)
        self.expand1x1 = conv(config.squeeze, config.expand, 1, bias=True)
        self.expand3x3 = conv(config.squeeze, config.expand, 3, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.squeeze(x))
        return F.concat((F.relu(self.expand1x1(x)), F.relu(self.expand3x3(x))), axis=1)


def build(config: SqueezeNetConfig) -> M.Module:
    return SqueezeNet(config)
