"""A deep LSTM that classifies sequences, in Keras; names as in PyTorch's.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import keras
from keras import layers

if TYPE_CHECKING:
    from mbench.workloads.lstm import LSTMConfig

__all__ = ["DIFFERENCES", "LABELS", "build", "canonical"]

DIFFERENCES = ("a cell's two biases are added up before its steps, for Keras' cell has one",)
LABELS = {"logits": "labels"}


class LSTM(layers.LSTM):
    """Keras' layer with two biases and PyTorch's names: its gates are in the same order, and its
    kernels are (in, 4 * H) and (H, 4 * H).
    """

    def __init__(self, hidden: int, number: int, *, return_sequences: bool) -> None:
        super().__init__(hidden, return_sequences=return_sequences, name=f"lstm-{number}")
        self.number = number

    def build(self, shape: tuple[int, ...]) -> None:
        columns = 4 * self.cell.units
        self.cell.kernel = self.variable("weight_ih", shape[-1], columns)
        self.cell.recurrent_kernel = self.variable("weight_hh", self.cell.units, columns)
        self.bias_ih = self.variable("bias_ih", columns)
        self.bias_hh = self.variable("bias_hh", columns)
        self.cell.built = True

    def variable(self, name: str, *shape: int) -> Any:
        return self.add_weight(shape=shape, initializer="zeros", name=f"{name}_l{self.number}")

    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool = False
    ) -> Any:
        """(B, L, in) -> (B, L, H), or (B, H) of the last step alone."""
        self.cell.bias = self.bias_ih + self.bias_hh
        return super().call(sequences, initial_state, mask, training)


def build(config: LSTMConfig) -> keras.Model:
    """features (B, L, F) -> logits (B, K)."""
    x = features = keras.Input((config.sequence_length, config.features), name="features")
    for number in range(config.layers):
        x = LSTM(config.hidden, number, return_sequences=number < config.layers - 1)(x)
    logits = layers.Dense(config.classes, kernel_initializer="zeros", name="linear")(x)
    return keras.Model({"features": features}, {"logits": logits})


def canonical(name: str) -> str:
    return re.sub(r"^lstm\.\d+", "lstm", name)
