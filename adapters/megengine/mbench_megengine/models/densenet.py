"""DenseNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench.workloads.densenet import Transition
from mbench_megengine.images import forward, loss
from mbench_megengine.layers import AveragePool, MaxPool, conv, norm, pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.densenet import DenseLayer, DenseNetConfig

__all__ = ["build", "forward", "loss"]


class DenseNet(M.Module):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__()
        layers = OrderedDict(
            conv0=conv(3, config.stem, 7, stride=2),
            norm0=norm(config, config.stem),
            relu0=M.ReLU(),
            pool0=MaxPool(3, padding=1),
        )
        for plan in config.parts():
            layers[plan.name] = layer(config, plan)
        layers["norm5"] = norm(config, config.features)
        self.features = M.Sequential(layers)
        self.classifier = M.Linear(config.features, config.classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(pixels(F.relu(self.features(images))))


class Block(M.Module):
    """Appends channels to its input's."""

    def __init__(self, config: DenseNetConfig, plan: DenseLayer) -> None:
        super().__init__()
        self.norm1 = norm(config, plan.inputs)
        self.conv1 = conv(plan.inputs, plan.inner, 1)
        self.norm2 = norm(config, plan.inner)
        self.conv2 = conv(plan.inner, plan.growth, 3)

    def forward(self, x: Tensor) -> Tensor:
        new = self.conv1(F.relu(self.norm1(x)))
        new = self.conv2(F.relu(self.norm2(new)))
        return F.concat((x, new), axis=1)


def layer(config: DenseNetConfig, plan: DenseLayer | Transition) -> M.Module:
    """A transition halves channels, height and width."""
    if not isinstance(plan, Transition):
        return Block(config, plan)
    return M.Sequential(
        OrderedDict(
            norm=norm(config, plan.inputs),
            relu=M.ReLU(),
            conv=conv(plan.inputs, plan.outputs, 1),
            pool=AveragePool(2, stride=2),
        )
    )


def build(config: DenseNetConfig) -> M.Module:
    return DenseNet(config)
