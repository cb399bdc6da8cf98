"""A deep LSTM that classifies sequences: nn.LSTM and a linear layer; names as in PyTorch's.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindspore as ms
from mindspore import nn, ops

from mbench_mindspore.images import loss
from mbench_mindspore.layers import Dense

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindspore import Tensor

    from mbench.workloads.lstm import LSTMConfig

__all__ = ["build", "forward", "loss"]


class LSTM(nn.LSTM):
    """mindspore.nn's own; in float64, composed of operations."""

    def construct(self, x: Tensor) -> tuple[Any, ...]:
        """(B, L, F) -> (B, L, H)."""
        if x.dtype == ms.float64:
            for layer in range(self.num_layers):
                x = self.layer(x, layer)
            return x
        return super().construct(x)[0]

    def layer(self, x: Tensor, number: int) -> Tensor:
        """(B, L, in) -> (B, L, H), one step after another."""
        batch, length, inputs = x.shape
        hidden = self.hidden_size
        bias = self.b_ih_list[number] + self.b_hh_list[number]
        rows = x.reshape((batch * length, inputs))
        given = ops.matmul(rows, self.w_ih_list[number].swapaxes(0, 1)) + bias
        given = given.reshape((batch, length, 4 * hidden))
        recurrent = self.w_hh_list[number].swapaxes(0, 1)
        h = ops.zeros((batch, hidden), x.dtype)
        c = h
        states = []
        for step in range(length):
            i, f, g, o = ops.split(given[:, step] + ops.matmul(h, recurrent), hidden, axis=1)
            c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
            h = ops.sigmoid(o) * ops.tanh(c)
            states.append(h)
        return ops.stack(states, axis=1)


class Classifier(nn.Cell):
    def __init__(self, config: LSTMConfig) -> None:
        super().__init__()
        self.lstm = LSTM(config.features, config.hidden, config.layers, batch_first=True)
        self.linear = Dense(config.hidden, config.classes)

    def construct(self, features: Tensor) -> Tensor:
        """(B, L, F) -> (B, K)."""
        return self.linear(self.lstm(features)[:, -1])


def build(config: LSTMConfig) -> nn.Cell:
    return Classifier(config)


def forward(model: nn.Cell, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """features (B, L, F) -> logits (B, K)."""
    return {"logits": model(batch["features"])}
