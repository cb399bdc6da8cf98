"""GPT-2 as a causal language model in Keras; names as in transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, D hidden, H heads, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.layers import UNFUSED_ATTENTION, cross_entropy, through

if TYPE_CHECKING:
    from mbench.workloads.gpt2 import GPT2Config

    Tensors = dict[str, tf.Tensor]

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (UNFUSED_ATTENTION,)


class GPT2(keras.Model):
    """GPT-2; its head is tied to the token embedding."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__(name="gpt2")
        self.wte = embedding(config, config.vocabulary, "transformer.wte")
        self.wpe = embedding(config, config.positions, "transformer.wpe")
        self.dropout = keras.layers.Dropout(config.dropout)
        self.blocks = [Block(config, name=f"transformer.h.{n}") for n in range(config.layers)]
        self.ln_f = normalization(config, "transformer.ln_f")

    def call(self, input_ids: tf.Tensor) -> tf.Tensor:
        """(B, L) -> (B, L, V)."""
        x = self.wte(input_ids) + self.wpe(tf.range(input_ids.shape[1]))  # (B, L, D) + (L, D)
        x = self.ln_f(through(self.blocks, self.dropout(x)))
        flat = tf.reshape(x, (-1, x.shape[-1]))  # (B * L, D)
        # Keras leaves embeddings out of mixed precision, since look-ups cost little.
        tokens = tf.cast(self.wte.embeddings, flat.dtype)  # (V, D)
        return tf.reshape(tf.matmul(flat, tokens, transpose_b=True), (*x.shape[:2], -1))


class Block(keras.layers.Layer):
    def __init__(self, config: GPT2Config, *, name: str) -> None:
        super().__init__(name=name)
        self.attention = [
            normalization(config, "ln_1"),
            Attention(config, name="attn"),
            keras.layers.Dropout(config.dropout),
        ]
        self.mlp = [
            normalization(config, "ln_2"),
            Projection(4 * config.hidden, name="mlp.c_fc"),
            gelu,
            Projection(config.hidden, name="mlp.c_proj"),
            keras.layers.Dropout(config.dropout),
        ]

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        x += through(self.attention, x)
        return x + through(self.mlp, x)


class Attention(keras.layers.Layer):
    """Every token attends to itself and to those before it."""

    def __init__(self, config: GPT2Config, *, name: str) -> None:
        super().__init__(name=name)
        self.heads = config.heads
        self.c_attn = Projection(3 * config.hidden, name="c_attn")
        self.c_proj = Projection(config.hidden, name="c_proj")
        self.dropout = keras.layers.Dropout(config.dropout)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        query, key, value = (self.split(part) for part in tf.split(self.c_attn(x), 3, axis=-1))
        query *= 1 / math.sqrt(query.shape[-1])
        scores = tf.matmul(query, key, transpose_b=True)  # (B, H, L, L)
        past = tf.linalg.band_part(tf.ones(scores.shape[-2:], tf.bool), -1, 0)  # (L, L)
        weights = self.dropout(tf.nn.softmax(tf.where(past, scores, scores.dtype.min)))
        attended = tf.transpose(tf.matmul(weights, value), (0, 2, 1, 3))  # (B, L, H, D/H)
        return self.c_proj(tf.reshape(attended, x.shape))

    def split(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, D) -> (B, H, L, D/H)."""
        x = tf.reshape(x, (*x.shape[:2], self.heads, x.shape[-1] // self.heads))
        return tf.transpose(x, (0, 2, 1, 3))


class Projection(keras.layers.Layer):
    """A dense layer whose weight is (in, out) in transformers too."""

    def __init__(self, units: int, *, name: str) -> None:
        super().__init__(name=name)
        self.units = units

    def build(self, shape: tuple[int, ...]) -> None:
        self.weight = self.add_weight(
            shape=(shape[-1], self.units), initializer="zeros", name="weight"
        )
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, in) -> (B, L, out)."""
        flat = tf.reshape(x, (-1, x.shape[-1]))
        projected = tf.nn.bias_add(tf.matmul(flat, self.weight), self.bias)
        return tf.reshape(projected, (*x.shape[:-1], self.units))


def embedding(config: GPT2Config, rows: int, name: str) -> keras.layers.Embedding:
    return keras.layers.Embedding(rows, config.hidden, "zeros", name=name)  # values are loaded


def normalization(config: GPT2Config, name: str) -> keras.layers.LayerNormalization:
    return keras.layers.LayerNormalization(epsilon=config.epsilon, name=name)


def gelu(x: tf.Tensor) -> tf.Tensor:
    """The approximation by tanh. tf.nn.gelu differs in a constant, a float32 even in float64."""
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + tf.tanh(inner))


build = GPT2


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """input_ids (B, L) -> logits (B, L, V)."""
    return {"logits": model(batch["input_ids"], training=training)}


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    return cross_entropy(outputs["logits"], batch["labels"])
