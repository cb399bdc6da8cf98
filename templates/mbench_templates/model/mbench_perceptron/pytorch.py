"""The model in PyTorch. Shapes: B batch, C channels, H W pixels, K classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    import torch

    from mbench_perceptron.workload import PerceptronConfig


class Perceptron(nn.Module):
    def __init__(self, config: PerceptronConfig) -> None:
        super().__init__()
        self.hidden = nn.Linear(3 * config.image_size**2, config.hidden)
        self.output = nn.Linear(config.hidden, config.classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = images.flatten(1)  # (B, C H W)
        logits: torch.Tensor = self.output(functional.relu(self.hidden(features)))  # (B, K)
        return logits


def build(config: PerceptronConfig) -> Perceptron:
    return Perceptron(config)


def forward(model: Perceptron, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"logits": model(batch["images"])}


def loss(outputs: dict[str, torch.Tensor], batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
