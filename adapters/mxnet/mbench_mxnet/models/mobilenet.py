"""MobileNetV2 in Gluon; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import convolution, normalization, sequence

if TYPE_CHECKING:
    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mobilenet import MobileNetConfig

__all__ = ["build", "forward", "loss"]


class MobileNet(gluon.HybridBlock):
    def __init__(self, config: MobileNetConfig) -> None:
        super().__init__()
        self.features = sequence(normed(config, 3, config.stem, 3, strides=2))
        inputs = config.stem
        for plan in config.blocks():
            self.features.add(InvertedResidual(config, plan))
            inputs = plan.outputs
        self.features.add(normed(config, inputs, config.last, 1))
        self.avgpool = nn.GlobalAvgPool2D()
        self.classifier = sequence(
            nn.Dropout(config.dropout), nn.Dense(config.classes, in_units=config.last)
        )

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        return self.classifier(self.avgpool(self.features(images)))


class InvertedResidual(gluon.HybridBlock):
    """1x1 to more channels if it expands, depthwise 3x3, 1x1 to fewer."""

    def __init__(self, config: MobileNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__()
        inner = plan.inner
        self.conv = sequence()
        if plan.expands:
            self.conv.add(normed(config, plan.inputs, inner, 1))
        self.conv.add(
            normed(config, inner, inner, plan.kernel, strides=plan.stride, groups=inner),
            convolution(inner, plan.outputs, 1),
            normalization(config, plan.outputs),
        )
        self._summed = plan.summed

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x + self.conv(x) if self._summed else self.conv(x)


class ReLU6(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.clip(x, 0, 6)


def normed(
    config: MobileNetConfig,
    inputs: int,
    outputs: int,
    kernel: int,
    *,
    strides: int = 1,
    groups: int = 1,
) -> nn.HybridSequential:
    return sequence(
        convolution(inputs, outputs, kernel, strides=strides, groups=groups),
        normalization(config, outputs),
        ReLU6(),
    )


def build(config: MobileNetConfig) -> gluon.HybridBlock:
    return MobileNet(config)
