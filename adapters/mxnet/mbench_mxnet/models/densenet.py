"""DenseNet in Gluon; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench.workloads.densenet import Transition
from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import convolution, normalization, relu, sequence

if TYPE_CHECKING:
    from mbench.workloads.densenet import DenseLayer, DenseNetConfig

__all__ = ["build", "forward", "loss"]


class DenseNet(gluon.HybridBlock):
    def __init__(self, config: DenseNetConfig) -> None:
        super().__init__()
        self.features = sequence(
            conv0=convolution(3, config.stem, 7, strides=2),
            norm0=normalization(config, config.stem),
            relu0=relu(),
            pool0=nn.MaxPool2D(3, strides=2, padding=1),
            **{plan.name: layer(config, plan) for plan in config.parts()},
            norm5=normalization(config, config.features),
        )
        self.relu = relu()
        self.avgpool = nn.GlobalAvgPool2D()
        self.classifier = nn.Dense(config.classes, in_units=config.features)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        return self.classifier(self.avgpool(self.relu(self.features(images))))


class Dense(gluon.HybridBlock):
    """Appends channels to its input's."""

    def __init__(self, config: DenseNetConfig, plan: DenseLayer) -> None:
        super().__init__()
        self.norm1 = normalization(config, plan.inputs)
        self.conv1 = convolution(plan.inputs, plan.inner, 1)
        self.norm2 = normalization(config, plan.inner)
        self.conv2 = convolution(plan.inner, plan.growth, 3)
        self.relu = relu()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        new = self.conv1(self.relu(self.norm1(x)))
        new = self.conv2(self.relu(self.norm2(new)))
        return F.concat(x, new, dim=1)


def layer(config: DenseNetConfig, plan: DenseLayer | Transition) -> gluon.HybridBlock:
    """A transition halves channels, height and width."""
    if not isinstance(plan, Transition):
        return Dense(config, plan)
    return sequence(
        norm=normalization(config, plan.inputs),
        relu=relu(),
        conv=convolution(plan.inputs, plan.outputs, 1),
        pool=nn.AvgPool2D(2, strides=2),
    )


def build(config: DenseNetConfig) -> gluon.HybridBlock:
    return DenseNet(config)
