"""A small convolutional network in paddle.nn; names as in mbench.workloads.cnn.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.images import forward, loss
from mbench_paddle.layers import norm

if TYPE_CHECKING:
    import paddle

    from mbench.workloads.cnn import CNNConfig

__all__ = ["build", "forward", "loss"]


class CNN(nn.Layer):
    def __init__(self, config: CNNConfig) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(config.channels, config.first, 3, padding=1, bias_attr=False)
        self.bn1 = norm(config, config.first)
        self.conv2 = nn.Conv2D(config.first, config.second, 3, padding=1, bias_attr=False)
        self.bn2 = norm(config, config.second)
        self.fc = nn.Linear(config.flat, config.classes)

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(images))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(x.flatten(1))


build = CNN
