"""VGG in Gluon, with and without batch norm; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench.workloads.vgg import HIDDEN, POOLED
from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import (
    AdaptiveAvgPool2D,
    convolution,
    normalization,
    relu,
    sequence,
)

if TYPE_CHECKING:
    from mbench.workloads.vgg import VGGConfig

__all__ = ["build", "forward", "loss"]


class VGG(gluon.HybridBlock):
    def __init__(self, config: VGGConfig) -> None:
        super().__init__()
        self.features, inputs = sequence(), 3
        for blocks, width in zip(config.blocks, config.widths, strict=True):
            for _ in range(blocks):
                self.features.add(convolution(inputs, width, 3, bias=True))
                if config.batch_norm:
                    self.features.add(normalization(config, width))
                self.features.add(relu())
                inputs = width
            self.features.add(nn.MaxPool2D(2, strides=2))
        self.avgpool = AdaptiveAvgPool2D(POOLED)
        self.classifier = sequence(
            nn.Dense(HIDDEN, in_units=inputs * POOLED**2),
            relu(),
            nn.Dropout(config.dropout),
            nn.Dense(HIDDEN, in_units=HIDDEN),
            relu(),
            nn.Dropout(config.dropout),
            nn.Dense(config.classes, in_units=HIDDEN),
        )

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, 3, H, W) -> (B, K)."""
        return self.classifier(self.avgpool(self.features(images)))


def build(config: VGGConfig) -> gluon.HybridBlock:
    return VGG(config)
