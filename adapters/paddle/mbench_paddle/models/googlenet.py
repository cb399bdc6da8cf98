"""mbench's own GoogLeNet, with batch norm: paddle.vision's has none.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn
from paddle.nn import functional as F

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT, HEADS, HIDDEN, auxiliary
from mbench_paddle.branches import BranchedNet, forward_of, loss_of, part

if TYPE_CHECKING:
    import paddle

    from mbench.workloads.branches import Head
    from mbench.workloads.googlenet import GoogLeNetConfig

__all__ = ["build", "forward", "loss"]

forward = forward_of(*HEADS)
loss = loss_of(AUXILIARY_WEIGHT, *HEADS)


class Auxiliary(nn.Layer):
    def __init__(self, config: GoogLeNetConfig, head: Head) -> None:
        super().__init__()
        conv = auxiliary(head.inputs)
        self.conv = part(config, conv)
        self.fc1 = nn.Linear(conv.outputs * AUXILIARY_SIDE**2, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, config.classes)
        self.dropout = nn.Dropout(config.auxiliary_dropout)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = self.conv(F.adaptive_avg_pool2d(x, AUXILIARY_SIDE))
        return self.fc2(self.dropout(F.relu(self.fc1(x.flatten(1)))))


def build(config: GoogLeNetConfig) -> nn.Layer:
    return BranchedNet(config, Auxiliary)
