"""A deep LSTM that classifies sequences; names as in PyTorch's.

Shapes: B batch, L sequence, F features, H hidden, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tensorflow as tf

from mbench_tensorflow1.images import loss
from mbench_tensorflow1.layers import Net

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
DIFFERENCES = (
    "each layer is a tf.nn.dynamic_rnn over its steps; the inputs' products come before",
)


def forward(net: Net, batch: Tensors) -> Tensors:
    """features (B, L, F) -> logits (B, K)."""
    x = tf.transpose(batch["features"], (1, 0, 2))  # (L, B, F)
    for number in range(net.config.layers):
        x = layer(net, x, number)
    return {"logits": net.linear("linear", x[-1], net.config.classes)}


class Cell(tf.nn.rnn_cell.RNNCell):
    """One step. tf.nn.rnn_cell's cells order gates differently, and project inputs themselves."""

    def __init__(self, recurrent: tf.Tensor, hidden: int) -> None:
        super().__init__()
        self.recurrent = recurrent
        self.hidden = hidden

    @property
    def state_size(self) -> Any:
        return self.hidden, self.hidden

    @property
    def output_size(self) -> int:
        return self.hidden

    def call(self, gates: tf.Tensor, state: tuple[tf.Tensor, tf.Tensor]) -> Any:
        """The inputs' part of the gates (B, 4 H), and the state -> the output and new state."""
        h, c = state
        i, f, g, o = tf.split(gates + tf.matmul(h, self.recurrent), 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return h, (h, c)


def layer(net: Net, x: tf.Tensor, number: int) -> tf.Tensor:
    """(L, B, in) -> (L, B, H)."""
    hidden, turned = net.config.hidden, (1, 0)
    weight = net.tensor(f"lstm.weight_ih_l{number}", (x.shape[-1], 4 * hidden), turned)
    recurrent = net.tensor(f"lstm.weight_hh_l{number}", (hidden, 4 * hidden), turned)
    bias = net.tensor(f"lstm.bias_ih_l{number}", (4 * hidden,))
    other = net.tensor(f"lstm.bias_hh_l{number}", (4 * hidden,))
    gates = tf.matmul(tf.reshape(x, (-1, x.shape[-1])), weight) + (bias + other)
    gates = tf.reshape(gates, (*x.shape[:2], 4 * hidden))
    cell = Cell(tf.convert_to_tensor(recurrent), hidden)
    found, _ = tf.nn.dynamic_rnn(
        cell, gates, dtype=gates.dtype, time_major=True, scope=f"layer{number}"
    )
    found.set_shape((*x.shape[:2], hidden))
    return found
