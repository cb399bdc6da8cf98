"""A deep LSTM that classifies sequences: paddle.nn.LSTM and a linear layer.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle import nn
from paddle.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Mapping

    import paddle

    from mbench.workloads.lstm import LSTMConfig

__all__ = ["build", "forward", "loss"]


class Classifier(nn.Layer):
    def __init__(self, config: LSTMConfig) -> None:
        super().__init__()
        self.lstm = nn.LSTM(config.features, config.hidden, config.layers)
        self.linear = nn.Linear(config.hidden, config.classes)

    def forward(self, features: paddle.Tensor) -> paddle.Tensor:
        """(B, L, F) -> (B, K)."""
        states, _ = self.lstm(features)  # (B, L, H)
        return self.linear(states[:, -1])


def build(config: LSTMConfig) -> nn.Layer:
    return Classifier(config)


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """features (B, L, F) -> logits (B, K)."""
    return {"logits": model(batch["features"])}


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    return F.cross_entropy(outputs["logits"], batch["labels"])
