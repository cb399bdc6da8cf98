"""GoogLeNet, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from megengine import functional as F
from megengine import module as M

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT, HEADS, HIDDEN, auxiliary
from mbench_megengine.branches import BranchedNet, forward_of, loss_of, part
from mbench_megengine.layers import Dropout, Regions, flat

if TYPE_CHECKING:
    from megengine import Tensor

    from mbench.workloads.branches import Head
    from mbench.workloads.googlenet import GoogLeNetConfig

__all__ = ["build", "forward", "loss"]

forward = forward_of(*HEADS)
loss = loss_of(AUXILIARY_WEIGHT)


class Auxiliary(M.Module):
    def __init__(self, config: GoogLeNetConfig, head: Head) -> None:
        super().__init__()
        conv = auxiliary(head.inputs)
        self.pool = Regions(AUXILIARY_SIDE)
        self.conv = part(config, conv)
        self.fc1 = M.Linear(conv.outputs * AUXILIARY_SIDE**2, HIDDEN)
        self.fc2 = M.Linear(HIDDEN, config.classes)
        self.dropout = Dropout(config.auxiliary_dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(self.pool(x))
        return self.fc2(self.dropout(F.relu(self.fc1(flat(x)))))


def build(config: GoogLeNetConfig) -> M.Module:
    return BranchedNet(config, Auxiliary)
