"""A deep LSTM that classifies sequences: torch.nn.LSTM and a linear layer.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from mbench_pytorch.recurrent import DIFFERENCES, LSTM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.lstm import LSTMConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]


class Classifier(nn.Module):
    def __init__(self, config: LSTMConfig) -> None:
        super().__init__()
        self.lstm = LSTM(config.features, config.hidden, config.layers, batch_first=True)
        self.linear = nn.Linear(config.hidden, config.classes)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        states = self.lstm(features)  # (B, L, H)
        logits: torch.Tensor = self.linear(states[:, -1])  # (B, K)
        return logits


def build(config: LSTMConfig) -> Classifier:
    return Classifier(config)


def forward(model: Classifier, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """features (B, L, F) -> logits (B, K)."""
    return {"logits": model(batch["features"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
