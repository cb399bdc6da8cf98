"""VGG, with and without batch norm; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import module as M

from mbench.contract.compat import zipped
from mbench.workloads.vgg import HIDDEN, POOLED
from mbench_megengine.images import forward, loss
from mbench_megengine.layers import Dropout, MaxPool, Regions, conv, flat, norm

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.vgg import VGGConfig

__all__ = ["build", "forward", "loss"]


class VGG(M.Module):
    def __init__(self, config: VGGConfig) -> None:
        super().__init__()
        layers, inputs = [], 3
        for blocks, width in zipped(config.blocks, config.widths):
            for _ in range(blocks):
                layers.append(conv(inputs, width, 3, bias=True))
                if config.batch_norm:
                    layers.append(norm(config, width))
                layers.append(M.ReLU())
                inputs = width
            layers.append(MaxPool(2))
        self.features = M.Sequential(*layers)
        self.avgpool = Regions(POOLED)
        self.classifier = M.Sequential(
            M.Linear(inputs * POOLED**2, HIDDEN),
            M.ReLU(),
            Dropout(config.dropout),
            M.Linear(HIDDEN, HIDDEN),
            M.ReLU(),
            Dropout(config.dropout),
            M.Linear(HIDDEN, config.classes),
        )

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(flat(self.avgpool(self.features(images))))


def build(config: VGGConfig) -> M.Module:
    return VGG(config)
