"""GPT-2 as a causal language model; names as in transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, D hidden, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow1.images import loss
from mbench_tensorflow1.layers import Net

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


def forward(net: Net, batch: Tensors) -> Tensors:
    """input_ids (B, L) -> logits (B, L, V); the head is tied to the token embedding."""
    config, tokens = net.config, batch["input_ids"]
    words = net.embedding("transformer.wte", config.vocabulary, config.hidden)
    places = net.embedding("transformer.wpe", config.positions, config.hidden)
    x = tf.gather(words, tokens) + places[: tokens.shape[1]]
    x = net.dropout(x, config.dropout)  # (B, L, D)
    for layer in range(config.layers):
        x = block(net, f"transformer.h.{layer}", x)
    rows = tf.reshape(net.layer_norm("transformer.ln_f", x), (-1, config.hidden))
    logits = tf.matmul(rows, words, transpose_b=True)
    return {"logits": tf.reshape(logits, (*tokens.shape, config.vocabulary))}


def block(net: Net, at: str, x: tf.Tensor) -> tf.Tensor:
    """Attention and an MLP, each with a layer norm before it and a sum after."""

    def linear(name: str, x: tf.Tensor, outputs: int) -> tf.Tensor:
        return net.linear(f"{at}.{name}", x, outputs, axes=())

    rate, hidden = net.config.dropout, net.config.hidden
    y = linear("attn.c_attn", net.layer_norm(f"{at}.ln_1", x), 3 * hidden)
    heads = (*x.shape[:2], net.config.heads, -1)
    query, key, value = (tf.reshape(part, heads) for part in tf.split(y, 3, axis=-1))
    y = tf.reshape(net.attention(query, key, value, rate, causal=True), x.shape)
    x = x + net.dropout(linear("attn.c_proj", y, hidden), rate)
    y = gelu(linear("mlp.c_fc", net.layer_norm(f"{at}.ln_2", x), 4 * hidden))
    return x + net.dropout(linear("mlp.c_proj", y, hidden), rate)


def gelu(x: tf.Tensor) -> tf.Tensor:
    """The one by tanh. Composed as in GPT-2's code: TensorFlow 1 has none."""
    return 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * tf.pow(x, 3))))
