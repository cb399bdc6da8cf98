"""mbench's own AlexNet: paddle.vision's scales dropout in evaluation, and averages no pixels.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn

from mbench.workloads.alexnet import POOLED
from mbench_paddle.images import forward, loss

if TYPE_CHECKING:
    import paddle

    from mbench.workloads.alexnet import AlexNetConfig

__all__ = ["build", "forward", "loss"]


class AlexNet(nn.Layer):
    def __init__(self, config: AlexNetConfig) -> None:
        super().__init__()
        first, second, third, fourth, fifth = config.widths
        self.features = nn.Sequential(
            nn.Conv2D(3, first, 11, stride=4, padding=2),
            nn.ReLU(),
            nn.MaxPool2D(3, stride=2),
            nn.Conv2D(first, second, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2D(3, stride=2),
            nn.Conv2D(second, third, 3, padding=1),
            nn.ReLU(),
            nn.Conv2D(third, fourth, 3, padding=1),
            nn.ReLU(),
            nn.Conv2D(fourth, fifth, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2D(POOLED)
        self.classifier = nn.Sequential(
            nn.Dropout(config.dropout),
            nn.Linear(fifth * POOLED**2, config.hidden),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.hidden, config.hidden),
            nn.ReLU(),
            nn.Linear(config.hidden, config.classes),
        )

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, K)."""
        return self.classifier(self.avgpool(self.features(images)).flatten(1))


def build(config: AlexNetConfig) -> nn.Layer:
    return AlexNet(config)
