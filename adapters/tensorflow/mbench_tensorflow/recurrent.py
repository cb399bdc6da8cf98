"""Keras' LSTM with PyTorch's tensors. Shapes: B batch, L sequence, H hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["DIFFERENCES", "LSTM"]

DIFFERENCES = ("a cell's two biases are added up before its steps, for Keras' cell has one",)


class LSTM(keras.layers.LSTM):
    """Keras' layer, which uses cuDNN's kernel on CUDA, with two biases and PyTorch's names.

    Its gates are in PyTorch's order; its kernels are (in, 4 * H) and (H, 4 * H).
    """

    def __init__(self, hidden: int, number: int, *, return_sequences: bool, name: str) -> None:
        super().__init__(hidden, return_sequences=return_sequences, name=name)
        self.number = number

    def build(self, shape: tuple[int, ...]) -> None:
        columns = 4 * self.cell.units
        self.cell.kernel = self.variable("weight_ih", shape[-1], columns)
        self.cell.recurrent_kernel = self.variable("weight_hh", self.cell.units, columns)
        self.bias_ih = self.variable("bias_ih", columns)
        self.bias_hh = self.variable("bias_hh", columns)
        self.cell.built = True

    def variable(self, name: str, *shape: int) -> keras.Variable:
        return self.add_weight(shape=shape, initializer="zeros", name=f"{name}_l{self.number}")

    def call(self, sequences: tf.Tensor, training: bool = False) -> tf.Tensor:
        """(B, L, in) -> (B, L, H), or (B, H) of the last step alone."""
        self.cell.bias = self.bias_ih + self.bias_hh
        return super().call(sequences, training=training)
