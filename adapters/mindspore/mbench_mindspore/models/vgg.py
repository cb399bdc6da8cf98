"""VGG, with and without batch norm; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import nn

from mbench.workloads.vgg import HIDDEN, POOLED
from mbench_mindspore.images import forward, loss
from mbench_mindspore.layers import Conv2d, Dense, Dropout, MaxPool, flat, norm

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads.vgg import VGGConfig

__all__ = ["build", "forward", "loss"]


class VGG(nn.Cell):
    def __init__(self, config: VGGConfig) -> None:
        super().__init__()
        layers, inputs = [], 3
        for blocks, width in zip(config.blocks, config.widths, strict=True):
            for _ in range(blocks):
                layers.append(Conv2d(inputs, width, 3, bias=True))
                if config.batch_norm:
                    layers.append(norm(config, width))
                layers.append(nn.ReLU())
                inputs = width
            layers.append(MaxPool(2))
        self.features = nn.SequentialCell(layers)
        self.avgpool = nn.AdaptiveAvgPool2d(POOLED)
        self.classifier = nn.SequentialCell(
            Dense(inputs * POOLED**2, HIDDEN),
            nn.ReLU(),
            Dropout(config.dropout),
            Dense(HIDDEN, HIDDEN),
            nn.ReLU(),
            Dropout(config.dropout),
            Dense(HIDDEN, config.classes),
        )

    def construct(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(flat(self.avgpool(self.features(images))))


def build(config: VGGConfig) -> nn.Cell:
    return VGG(config)
