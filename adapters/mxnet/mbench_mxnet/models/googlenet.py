"""GoogLeNet in Gluon, with its auxiliary heads; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench.workloads.googlenet import AUXILIARY_SIDE, AUXILIARY_WEIGHT, HEADS, HIDDEN, auxiliary
from mbench_mxnet.branches import BranchedNet, forward_of, loss_of, part
from mbench_mxnet.layers import AdaptiveAvgPool2D, relu

if TYPE_CHECKING:
    from mbench.workloads.branches import Head
    from mbench.workloads.googlenet import GoogLeNetConfig

__all__ = ["build", "forward", "loss"]

forward = forward_of(*HEADS)
loss = loss_of(AUXILIARY_WEIGHT)


class Auxiliary(gluon.HybridBlock):
    """A classifier of features from the middle of the network."""

    def __init__(self, config: GoogLeNetConfig, head: Head) -> None:
        super().__init__()
        conv = auxiliary(head.inputs)
        self.avgpool = AdaptiveAvgPool2D(AUXILIARY_SIDE)
        self.conv = part(config, conv)
        self.fc1 = nn.Dense(HIDDEN, in_units=conv.outputs * AUXILIARY_SIDE**2)
        self.relu = relu()
        self.dropout = nn.Dropout(config.auxiliary_dropout)
        self.fc2 = nn.Dense(config.classes, in_units=HIDDEN)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, C, H, W) -> (B, K)."""
        x = self.conv(self.avgpool(x))  # (B, 128, 4, 4)
        return self.fc2(self.dropout(self.relu(self.fc1(x))))


def build(config: GoogLeNetConfig) -> gluon.HybridBlock:
    return BranchedNet(config, Auxiliary)
