"""AlexNet; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import module as M

from mbench.workloads.alexnet import POOLED
from mbench_megengine.images import forward, loss
from mbench_megengine.layers import Dropout, MaxPool, Regions, conv, flat

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.alexnet import AlexNetConfig

__all__ = ["build", "forward", "loss"]


class AlexNet(M.Module):
    def __init__(self, config: AlexNetConfig) -> None:
        super().__init__()
        first, second, third, fourth, fifth = config.widths
        self.features = M.Sequential(
            conv(3, first, 11, stride=4, padding=2, bias=True),
            M.ReLU(),
            MaxPool(3),
            conv(first, second, 5, bias=True),
            M.ReLU(),
            MaxPool(3),
            conv(second, third, 3, bias=True),
            M.ReLU(),
            conv(third, fourth, 3, bias=True),
            M.ReLU(),
            conv(fourth, fifth, 3, bias=True),
            M.ReLU(),
            MaxPool(3),
        )
        self.avgpool = Regions(POOLED)
        self.classifier = M.Sequential(
            Dropout(config.dropout),
            M.Linear(fifth * POOLED**2, config.hidden),
            M.ReLU(),
            Dropout(config.dropout),
            M.Linear(config.hidden, config.hidden),
            M.ReLU(),
            M.Linear(config.hidden, config.classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(flat(self.avgpool(self.features(images))))


def build(config: AlexNetConfig) -> M.Module:
    return AlexNet(config)
