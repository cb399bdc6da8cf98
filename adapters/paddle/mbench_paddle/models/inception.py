"""mbench's own Inception v3: paddle.vision's has no auxiliary head.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn

from mbench.workloads.inception import AUXILIARY_FEATURES, AUXILIARY_WEIGHT, HEADS, auxiliary
from mbench_paddle.branches import BranchedNet, forward_of, loss_of, part

if TYPE_CHECKING:
    import paddle

    from mbench.workloads.branches import Head
    from mbench.workloads.inception import InceptionConfig

__all__ = ["build", "forward", "loss"]

forward = forward_of(*HEADS)
loss = loss_of(AUXILIARY_WEIGHT, *HEADS)


class Auxiliary(nn.Layer):
    def __init__(self, config: InceptionConfig, head: Head) -> None:
        super().__init__()
        pool, conv0, conv1 = auxiliary(head.inputs)
        self.pool = part(config, pool)
        self.conv0 = part(config, conv0)
        self.conv1 = part(config, conv1)
        self.fc = nn.Linear(AUXILIARY_FEATURES, config.classes)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = self.conv1(self.conv0(self.pool(x)))
        return self.fc(x.mean([2, 3]))


def build(config: InceptionConfig) -> nn.Layer:
    return BranchedNet(config, Auxiliary)
