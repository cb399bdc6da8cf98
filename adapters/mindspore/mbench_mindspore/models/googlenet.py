"""GoogLeNet, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindspore import nn, ops

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT, HEADS, HIDDEN, auxiliary
from mbench_mindspore.branches import BranchedNet, forward_of, loss_of, part
from mbench_mindspore.layers import Dense, Dropout, flat

if TYPE_CHECKING:
    from mindspore import Tensor

    from mbench.workloads.branches import Head
    from mbench.workloads.googlenet import GoogLeNetConfig

__all__ = ["build", "forward", "loss"]

forward = forward_of(*HEADS)
loss = loss_of(AUXILIARY_WEIGHT, *HEADS)


class Auxiliary(nn.Cell):
    def __init__(self, config: GoogLeNetConfig, head: Head) -> None:
        super().__init__()
        conv = auxiliary(head.inputs)
        self.pool = nn.AdaptiveAvgPool2d(AUXILIARY_SIDE)
        self.conv = part(config, conv)
        self.fc1 = Dense(conv.outputs * AUXILIARY_SIDE**2, HIDDEN)
        self.fc2 = Dense(HIDDEN, config.classes)
        self.dropout = Dropout(config.auxiliary_dropout)

    def construct(self, x: Tensor) -> Tensor:
        x = self.conv(self.pool(x))
        return self.fc2(self.dropout(ops.relu(self.fc1(flat(x)))))


def build(config: GoogLeNetConfig) -> nn.Cell:
    return BranchedNet(config, Auxiliary)
