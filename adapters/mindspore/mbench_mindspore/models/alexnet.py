"""AlexNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import nn

from mbench.workloads.alexnet import POOLED
from mbench_mindspore.images import forward, loss
from mbench_mindspore.layers import Conv2d, Dense, Dropout, MaxPool, flat

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads.alexnet import AlexNetConfig

__all__ = ["build", "forward", "loss"]


class AlexNet(nn.Cell):
    def __init__(self, config: AlexNetConfig) -> None:
        super().__init__()
        first, second, third, fourth, fifth = config.widths
        self.features = nn.SequentialCell(
            Conv2d(3, first, 11, stride=4, padding=2, bias=True),
            nn.ReLU(),
            MaxPool(3),
            Conv2d(first, second, 5, bias=True),
            nn.ReLU(),
            MaxPool(3),
            Conv2d(second, third, 3, bias=True),
            nn.ReLU(),
            Conv2d(third, fourth, 3, bias=True),
            nn.ReLU(),
            Conv2d(fourth, fifth, 3, bias=True),
            nn.ReLU(),
            MaxPool(3),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(POOLED)
        self.classifier = nn.SequentialCell(
            Dropout(config.dropout),
            Dense(fifth * POOLED**2, config.hidden),
            nn.ReLU(),
            Dropout(config.dropout),
            Dense(config.hidden, config.hidden),
            nn.ReLU(),
            Dense(config.hidden, config.classes),
        )

    def construct(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(flat(self.avgpool(self.features(images))))


def build(config: AlexNetConfig) -> nn.Cell:
    return AlexNet(config)
