"""Llama as a causal language model in Keras; names as in transformers' LlamaForCausalLM.

Shapes: B batch, L sequence, D hidden.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.decoder import (
    DIFFERENCES,
    Decoder,
    advance,
    forward,
    layers,
    loss,
    prefill,
    projection,
    room,
)

if TYPE_CHECKING:
    from mbench.workloads.llama import LlamaConfig

__all__ = ["DIFFERENCES", "advance", "build", "forward", "layers", "loss", "prefill", "room"]


class MLP(keras.layers.Layer):
    """SwiGLU."""

    def __init__(self, config: LlamaConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.gate = projection(config.intermediate, "gate_proj")
        self.up = projection(config.intermediate, "up_proj")
        self.down = projection(config.hidden, "down_proj")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        return self.down(tf.nn.silu(self.gate(x)) * self.up(x))


build = partial(Decoder, mlp=MLP, name="llama")
