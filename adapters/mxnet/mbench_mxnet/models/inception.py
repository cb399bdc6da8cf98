"""Inception v3 in Gluon, with its auxiliary head; names as in torchvision's.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench.workloads.inception import AUXILIARY_FEATURES, AUXILIARY_WEIGHT, HEADS, auxiliary
from mbench_mxnet.branches import BranchedNet, forward_of, loss_of, part

if TYPE_CHECKING:
    from mbench.workloads.branches import Head
    from mbench.workloads.inception import InceptionConfig

__all__ = ["build", "forward", "loss"]

forward = forward_of(*HEADS)
loss = loss_of(AUXILIARY_WEIGHT)


class Auxiliary(gluon.HybridBlock):
    """A classifier of features from the middle of the network."""

    def __init__(self, config: InceptionConfig, head: Head) -> None:
        super().__init__()
        pool, conv0, conv1 = auxiliary(head.inputs)
        self.pool = part(config, pool)
        self.conv0 = part(config, conv0)
        self.conv1 = part(config, conv1)
        self.avgpool = nn.GlobalAvgPool2D()
        self.fc = nn.Dense(config.classes, in_units=AUXILIARY_FEATURES)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, C, H, W) -> (B, K)."""
        x = self.conv1(self.conv0(self.pool(x)))  # (B, 768, 1, 1) for images of 299 pixels
        return self.fc(self.avgpool(x))


def build(config: InceptionConfig) -> gluon.HybridBlock:
    return BranchedNet(config, Auxiliary)
