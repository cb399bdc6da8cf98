"""A deep LSTM that classifies sequences: torch.nn.LSTM and a linear layer.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.lstm import LSTMConfig

__all__ = ["DIFFERENCES", "LSTM", "build", "forward", "loss"]

DIFFERENCES = (
    "trained in bfloat16 on the CPU, and on one without AVX-512 in any case, the LSTM is PyTorch's "
    "own: oneDNN's has wrong gradients in PyTorch 2.13, and kernels for AVX-512 alone",
)


class LSTM(nn.LSTM):
    """Without oneDNN where that is wrong or has no kernel."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:  # (B, L, F) -> (B, L, H)
        by_itself = self.is_miscomputed(features)
        with torch.backends.mkldnn.flags(enabled=False) if by_itself else nullcontext():
            states, _ = super().forward(features)
        return states

    def is_miscomputed(self, features: torch.Tensor) -> bool:
        """Whether oneDNN's gradients are wrong: seen with a hidden size of 1024, where those of the
        first of two layers are 0.28 of what is due, and of the first of eight are gone. Or whether
        PyTorch would ask it for a kernel that it has not, under autocast.
        """
        low = features.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")
        if not low or features.device.type != "cpu":
            return False
        return self.training or not torch.ops.mkldnn._is_mkldnn_bf16_supported()


class Classifier(nn.Module):
    def __init__(self, config: LSTMConfig) -> None:
        super().__init__()
        self.lstm = LSTM(config.features, config.hidden, config.layers, batch_first=True)
        self.linear = nn.Linear(config.hidden, config.classes)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        states = self.lstm(features)
        logits: torch.Tensor = self.linear(states[:, -1])  # (B, K)
        return logits


def build(config: LSTMConfig) -> Classifier:
    return Classifier(config)


def forward(model: Classifier, batch: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """features (B, L, F) -> logits (B, K)."""
    return {"logits": model(batch["features"])}


def loss(outputs: Mapping[str, torch.Tensor], batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return functional.cross_entropy(outputs["logits"], batch["labels"])
