"""mbench's own DenseNet: paddle.vision's batch norms are an older layer that includes its ReLU.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench.workloads.densenet import Transition
from mbench_paddle.images import forward, loss
from mbench_paddle.layers import norm

if TYPE_CHECKING:
    from mbench.workloads.densenet import DenseLayer, DenseNetConfig

__all__ = ["build", "forward", "loss"]


class DenseNet(nn.Layer):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__()
        self.features = nn.Sequential(
            ("conv0", nn.Conv2D(3, config.stem, 7, stride=2, padding=3, bias_attr=False)),
            ("norm0", norm(config, config.stem)),
            ("relu0", nn.ReLU()),
            ("pool0", nn.MaxPool2D(3, stride=2, padding=1)),
            *((plan.name, layer(config, plan)) for plan in config.parts()),
            ("norm5", norm(config, config.features)),
        )
        self.classifier = nn.Linear(config.features, config.classes)

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(F.relu(self.features(images)).mean([2, 3]))


class Block(nn.Layer):
    """Appends channels to its input's."""

    def __init__(self, config: DenseNetConfig, plan: DenseLayer) -> None:
        super().__init__()
        self.norm1 = norm(config, plan.inputs)
        self.conv1 = nn.Conv2D(plan.inputs, plan.inner, 1, bias_attr=False)
        self.norm2 = norm(config, plan.inner)
        self.conv2 = nn.Conv2D(plan.inner, plan.growth, 3, padding=1, bias_attr=False)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        new = self.conv1(F.relu(self.norm1(x)))
        new = self.conv2(F.relu(self.norm2(new)))
        return paddle.concat([x, new], axis=1)


def layer(config: DenseNetConfig, plan: DenseLayer | Transition) -> nn.Layer:
    """A transition halves channels, height and width."""
    if not isinstance(plan, Transition):
        return Block(config, plan)
    return nn.Sequential(
        ("norm", norm(config, plan.inputs)),
        ("relu", nn.ReLU()),
        ("conv", nn.Conv2D(plan.inputs, plan.outputs, 1, bias_attr=False)),
        ("pool", nn.AvgPool2D(2, stride=2)),
    )


def build(config: DenseNetConfig) -> nn.Layer:
    return DenseNet(config)
