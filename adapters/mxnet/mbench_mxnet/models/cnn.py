"""A small convolutional network in Gluon; names as in mbench.workloads.cnn.

Shapes: B batch, C channels, H W pixels, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench_mxnet.images import forward, loss
from mbench_mxnet.layers import convolution, normalization, relu

if TYPE_CHECKING:
    from mbench.workloads.cnn import CNNConfig

__all__ = ["build", "forward", "loss"]


class CNN(gluon.HybridBlock):
    def __init__(self, config: CNNConfig) -> None:
        super().__init__()
        self.conv1 = convolution(config.channels, config.first, 3)
        self.bn1 = normalization(config, config.first)
        self.conv2 = convolution(config.first, config.second, 3)
        self.bn2 = normalization(config, config.second)
        self.relu, self.pool = relu(), nn.MaxPool2D(2)
        self.fc = nn.Dense(config.classes, in_units=config.flat)

    def hybrid_forward(self, F: Any, images: Any) -> Any:
        """(B, C, H, W) -> (B, K)."""
        x = self.pool(self.relu(self.bn1(self.conv1(images))))
        x = self.pool(self.relu(self.bn2(self.conv2(x))))
        return self.fc(x)


build = CNN
