"""Inception v3, with its auxiliary head; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import module as M

from mbench.workloads.inception import AUXILIARY_FEATURES, AUXILIARY_WEIGHT, HEADS, auxiliary
from mbench_megengine.branches import BranchedNet, forward_of, loss_of, part
from mbench_megengine.layers import pixels

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.branches import Head
    from mbench.workloads.inception import InceptionConfig

__all__ = ["build", "forward", "loss"]

forward = forward_of(*HEADS)
loss = loss_of(AUXILIARY_WEIGHT)


class Auxiliary(M.Module):
    def __init__(self, config: InceptionConfig, head: Head) -> None:
        super().__init__()
        pool, conv0, conv1 = auxiliary(head.inputs)
        self.pool = part(config, pool)
        self.conv0 = part(config, conv0)
        self.conv1 = part(config, conv1)
        self.fc = M.Linear(AUXILIARY_FEATURES, config.classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(self.pool(x)))
        return self.fc(pixels(x))


def build(config: InceptionConfig) -> M.Module:
    return BranchedNet(config, Auxiliary)
