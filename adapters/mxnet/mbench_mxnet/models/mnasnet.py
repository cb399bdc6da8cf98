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
    from mbench.workloads.mnasnet import MnasNetConfig, Stack

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
        for stack in config.stacks:
            blocks = sequence()
            for block in range(stack.repeats):
                strides = stack.stride if block == 0 else 1
                blocks.add(InvertedResidual(config, inputs, stack, strides))
                inputs = stack.outputs
            self.layers.add(blocks)
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

    def __init__(self, config: MnasNetConfig, inputs: int, stack: Stack, strides: int) -> None:
        super().__init__()
        inner = inputs * stack.expansion
        self.layers = sequence(
            convolution(inputs, inner, 1),
            normalization(config, inner),
            relu(),
            convolution(inner, inner, stack.kernel, strides=strides, groups=inner),
            normalization(config, inner),
            relu(),
            convolution(inner, stack.outputs, 1),
            normalization(config, stack.outputs),
        )
        self._summed = strides == 1 and inputs == stack.outputs

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.layers(x) + x if self._summed else self.layers(x)


def build(config: MnasNetConfig) -> gluon.HybridBlock:
    return MnasNet(config)
