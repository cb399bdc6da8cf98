"""A deep LSTM that classifies sequences in Gluon; names as in PyTorch's.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn, rnn

from mbench_mxnet.layers import LSTM_NAMES, cross_entropy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.lstm import LSTMConfig

__all__ = ["build", "forward", "loss"]


DIFFERENCES = ("each LSTM layer is one fused kernel, and not all of them together",)


class Classifier(gluon.HybridBlock):
    def __init__(self, config: LSTMConfig) -> None:
        super().__init__()
        self.lstm = LSTM(config)
        self.linear = nn.Dense(config.classes, in_units=config.hidden)

    def hybrid_forward(self, F: Any, features: Any) -> Any:
        """(B, L, F) -> (B, K)."""
        states = self.lstm(features.swapaxes(0, 1))  # (L, B, H)
        return self.linear(states.slice_axis(axis=0, begin=-1, end=None).reshape((-3, -2)))


class LSTM(nn.HybridSequential):
    """Layer by layer, (L, B, F) -> (L, B, H).

    MXNet's kernel for a stack of layers has wrong gradients for all layers but the last, on CPU in
    float64, and is no faster in float32.
    """

    def __init__(self, config: LSTMConfig) -> None:
        super().__init__()
        inputs = config.features
        for _ in range(config.layers):
            self.add(rnn.LSTM(config.hidden, input_size=inputs))
            inputs = config.hidden

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, gluon.Parameter]:
        """The parameters, under their names in a single torch.nn.LSTM."""
        return {
            f"{prefix}.{name}_l{number}": getattr(layer, f"l0_{native}")
            for number, layer in self._children.items()
            for native, name in LSTM_NAMES.items()
        }


def build(config: LSTMConfig) -> gluon.HybridBlock:
    return Classifier(config)


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """features (B, L, F) -> logits (B, K)."""
    return {"logits": model(batch["features"])}


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    return cross_entropy(outputs["logits"], batch["labels"])
