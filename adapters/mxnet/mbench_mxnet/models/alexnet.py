"""AlexNet in Gluon; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench.workloads.alexnet import POOLED
from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import AdaptiveAvgPool2D, convolution, relu, sequence

if TYPE_CHECKING:
    from mbench.workloads.alexnet import AlexNetConfig

__all__ = ["build", "forward", "loss"]


class AlexNet(gluon.HybridBlock):
    def __init__(self, config: AlexNetConfig) -> None:
        super().__init__()
        first, second, third, fourth, fifth = config.widths
        self.features = sequence(
            convolution(3, first, 11, strides=4, padding=2, bias=True),
            relu(),
            nn.MaxPool2D(3, strides=2),
            convolution(first, second, 5, bias=True),
            relu(),
            nn.MaxPool2D(3, strides=2),
            convolution(second, third, 3, bias=True),
            relu(),
            convolution(third, fourth, 3, bias=True),
            relu(),
            convolution(fourth, fifth, 3, bias=True),
            relu(),
            nn.MaxPool2D(3, strides=2),
        )
        self.avgpool = AdaptiveAvgPool2D(POOLED)
        self.classifier = sequence(
            nn.Dropout(config.dropout),
            nn.Dense(config.hidden, in_units=fifth * POOLED**2),
            relu(),
            nn.Dropout(config.dropout),
            nn.Dense(config.hidden, in_units=config.hidden),
            relu(),
            nn.Dense(config.classes, in_units=config.hidden),
        )

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        return self.classifier(self.avgpool(self.features(images)))


def build(config: AlexNetConfig) -> gluon.HybridBlock:
    return AlexNet(config)
