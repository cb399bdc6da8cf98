"""Inception v3, with its auxiliary head; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import nn

from mbench.workloads.inception import AUXILIARY_FEATURES, AUXILIARY_WEIGHT, HEADS, auxiliary
from mbench_mindspore.branches import BranchedNet, forward_of, loss_of, part
from mbench_mindspore.layers import Dense, pixels

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads.branches import Head
    from mbench.workloads.inception import InceptionConfig

__all__ = ["build", "forward", "loss"]

forward = forward_of(*HEADS)
loss = loss_of(AUXILIARY_WEIGHT, *HEADS)


class Auxiliary(nn.Cell):
    def __init__(self, config: InceptionConfig, head: Head) -> None:
        super().__init__()
        pool, conv0, conv1 = auxiliary(head.inputs)
        self.pool = part(config, pool)
        self.conv0 = part(config, conv0)
        self.conv1 = part(config, conv1)
        self.fc = Dense(AUXILIARY_FEATURES, config.classes)

    def construct(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(self.pool(x)))
        return self.fc(pixels(x))


def build(config: InceptionConfig) -> nn.Cell:
    return BranchedNet(config, Auxiliary)
