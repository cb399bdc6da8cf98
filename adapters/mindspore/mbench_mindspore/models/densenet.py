"""DenseNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from mindspore import nn, ops

from mbench.workloads.densenet import Transition
from mbench_mindspore.images import forward, loss
from mbench_mindspore.layers import DOT, AveragePool, Conv2d, Dense, MaxPool, norm, pixels

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads.densenet import DenseLayer, DenseNetConfig

__all__ = ["build", "forward", "loss"]


class DenseNet(nn.Cell):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__()
        layers = OrderedDict(
            conv0=Conv2d(3, config.stem, 7, stride=2),
            norm0=norm(config, config.stem),
            relu0=nn.ReLU(),
            pool0=MaxPool(3, padding=1),
        )
        for plan in config.parts():
            layers[plan.name.replace(".", DOT)] = layer(config, plan)
        layers["norm5"] = norm(config, config.features)
        self.features = nn.SequentialCell(layers)
        self.classifier = Dense(config.features, config.classes)

    def construct(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(ops.relu(self.features(images))))


class Block(nn.Cell):
    """Appends channels to its input's."""

    def __init__(self, config: DenseNetConfig, plan: DenseLayer) -> None:
        super().__init__()
        self.norm1 = norm(config, plan.inputs)
        self.conv1 = Conv2d(plan.inputs, plan.inner, 1)
        self.norm2 = norm(config, plan.inner)
        self.conv2 = Conv2d(plan.inner, plan.growth, 3)

    def construct(self, x: Tensor) -> Tensor:
        new = self.conv1(ops.relu(self.norm1(x)))
        new = self.conv2(ops.relu(self.norm2(new)))
        return ops.cat((x, new), axis=1)


def layer(config: DenseNetConfig, plan: DenseLayer | Transition) -> nn.Cell:
    """A transition halves channels, height and width."""
    if not isinstance(plan, Transition):
        return Block(config, plan)
    return nn.SequentialCell(
        OrderedDict(
            norm=norm(config, plan.inputs),
            relu=nn.ReLU(),
            conv=Conv2d(plan.inputs, plan.outputs, 1),
            pool=AveragePool(2, stride=2),
        )
    )


def build(config: DenseNetConfig) -> nn.Cell:
    return DenseNet(config)
