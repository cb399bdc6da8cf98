"""SqueezeNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import nn, ops

from mbench_mindspore.images import forward, loss
from mbench_mindspore.layers import Conv2d, Dropout, MaxPool, pixels

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads.squeezenet import Fire as FireConfig
    from mbench.workloads.squeezenet import SqueezeNetConfig

__all__ = ["build", "forward", "loss"]


class SqueezeNet(nn.Cell):
    def __init__(self, config: SqueezeNetConfig) -> None:
        super().__init__()
        layers = [Conv2d(3, config.stem, config.kernel, stride=2, padding=0, bias=True), nn.ReLU()]
        inputs = config.stem
        for group in config.groups:
            layers.append(MaxPool(3, ceil=True))
            for fire in group:
                layers.append(Fire(fire, inputs))
                inputs = 2 * fire.expand
        self.features = nn.SequentialCell(layers)
        self.classifier = nn.SequentialCell(
            Dropout(config.dropout), Conv2d(inputs, config.classes, 1, bias=True), nn.ReLU()
        )

    def construct(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return pixels(self.classifier(self.features(images)))


class Fire(nn.Cell):
    def __init__(self, config: FireConfig, inputs: int) -> None:
        super().__init__()
        self.squeeze = Conv2d(inputs, config.squeeze, 1, bias=True)
        self.expand1x1 = Conv2d(config.squeeze, config.expand, 1, bias=True)
        self.expand3x3 = Conv2d(config.squeeze, config.expand, 3, bias=True)

    def construct(self, x: Tensor) -> Tensor:
        x = ops.relu(self.squeeze(x))
        return ops.cat((ops.relu(self.expand1x1(x)), ops.relu(self.expand3x3(x))), axis=1)


def build(config: SqueezeNetConfig) -> nn.Cell:
    return SqueezeNet(config)
