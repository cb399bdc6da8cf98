"""A small convolutional network.

Shapes: B batch, C channels, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.cnn import CNNConfig

__all__ = ["build", "forward", "loss"]


class CNN(nn.Module):
    def __init__(self, config: CNNConfig) -> None:
        super().__init__()
        norm = {"eps": config.epsilon, "momentum": config.momentum}
        self.conv1 = nn.Conv2d(config.channels, config.first, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(config.first, **norm)
        self.conv2 = nn.Conv2d(config.first, config.second, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(config.second, **norm)
        self.fc = nn.Linear(config.flat, config.classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(functional.relu(self.bn1(self.conv1(images))), 2)
        x = functional.max_pool2d(functional.relu(self.bn2(self.conv2(x))), 2)
        logits: torch.Tensor = self.fc(x.flatten(1))
        return logits


build = CNN


def forward(model: CNN, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """images (B, C, H, W) -> logits (B, K)."""
    return {"logits": model(batch["images"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Labels are class numbers (B,), or shares of classes (B, K)."""
    return functional.cross_entropy(outputs["logits"], batch["labels"])
