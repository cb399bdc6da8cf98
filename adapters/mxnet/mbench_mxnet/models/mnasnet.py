"""MnasNet in Gluon; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench.workloads.mnasnet import LAST
from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import convolution, normalization, relu, sequence

if TYPE_CHECKING:
    from mbench.workloads import mobilenet as plans
    from mbench.workloads.mnasnet import MnasNetConfig

__all__ = ["build", "forward", "loss"]


class MnasNet(gluon.HybridBlock):
    def __init__(self, config: MnasNetConfig) -> None:
        super().__init__()
        stem, inputs = config.stem, config.separable
        self.layers = sequence(
            convolution(3, stem, 3, strides=2),
            normalization(config, stem),
            relu(),
            convolution(stem, stem, 3, groups=stem),
            normalization(config, stem),
            relu(),
            convolution(stem, inputs, 1),
            normalization(config, inputs),
        )
        for stage in config.stages():
            self.layers.add(sequence(*(InvertedResidual(config, plan) for plan in stage)))
            inputs = stage[-1].outputs
        self.layers.add(convolution(inputs, LAST, 1), normalization(config, LAST), relu())
        self.avgpool = nn.GlobalAvgPool2D()
        self.classifier = sequence(
            nn.Dropout(config.dropout), nn.Dense(config.classes, in_units=LAST)
        )

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        return self.classifier(self.avgpool(self.layers(images)))


class InvertedResidual(gluon.HybridBlock):
    """1x1 to more channels, a depthwise convolution, 1x1 to fewer, without ReLU at the end."""

    def __init__(self, config: MnasNetConfig, plan: plans.InvertedResidual) -> None:
        super().__init__()
        inner, strides = plan.inner, plan.stride
        self.layers = sequence(
            convolution(plan.inputs, inner, 1),
            normalization(config, inner),
            relu(),
            convolution(inner, inner, plan.kernel, strides=strides, groups=inner),
            normalization(config, inner),
            relu(),
            convolution(inner, plan.outputs, 1),
            normalization(config, plan.outputs),
        )
        self._summed = plan.summed

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.layers(x) + x if self._summed else self.layers(x)


def build(config: MnasNetConfig) -> gluon.HybridBlock:
    return MnasNet(config)
