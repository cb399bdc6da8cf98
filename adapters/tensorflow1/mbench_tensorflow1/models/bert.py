"""BERT pre-training; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow1.layers import Net, cross_entropy

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


def forward(net: Net, batch: Tensors) -> Tensors:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    config, at = net.config, "bert.embeddings"
    words = net.embedding(f"{at}.word_embeddings", config.vocabulary, config.hidden)
    places = net.embedding(f"{at}.position_embeddings", config.positions, config.hidden)
    types = net.embedding(f"{at}.token_type_embeddings", config.token_types, config.hidden)
    x = tf.gather(words, batch["input_ids"])  # (B, L, D)
    x += tf.gather(types, batch["token_type_ids"]) + places[: x.shape[1]]
    x = net.layer_norm(f"{at}.LayerNorm", x)
    x = net.dropout(x, config.dropout)
    for layer in range(config.layers):
        x = encoded(net, f"bert.encoder.layer.{layer}", x)
    pooled = tf.tanh(net.linear("bert.pooler.dense", x[:, 0], config.hidden))  # (B, D)
    next_logits = net.linear("cls.seq_relationship", pooled, 2)
    x = masked(x, batch["masked_positions"])
    x = gelu(net.linear("cls.predictions.transform.dense", x, config.hidden))
    x = net.layer_norm("cls.predictions.transform.LayerNorm", x)  # (B * P, D)
    bias = net.tensor("cls.predictions.bias", (config.vocabulary,))
    logits = tf.nn.bias_add(tf.matmul(x, words, transpose_b=True), bias)
    shape = (*batch["masked_positions"].shape, config.vocabulary)
    return {"mlm_logits": tf.reshape(logits, shape), "nsp_logits": next_logits}  # (B, P, V), (B, 2)


def masked(x: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
    """(B, L, D), (B, P) -> (B * P, D), gathered from all positions in a row as in BERT's code."""
    batch, length, hidden = x.shape
    first = tf.range(0, batch * length, length, positions.dtype)[:, None]
    return tf.gather(tf.reshape(x, (-1, hidden)), tf.reshape(positions + first, (-1,)))


def gelu(x: tf.Tensor) -> tf.Tensor:
    """The exact one, by erf; TensorFlow 1 has none of its own."""
    return 0.5 * x * (1.0 + tf.erf(x / math.sqrt(2)))


def encoded(net: Net, at: str, x: tf.Tensor) -> tf.Tensor:
    """Attention and an MLP, each with a sum and a layer norm after it."""
    config = net.config

    def summed(name: str, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        y = net.dropout(net.linear(f"{at}.{name}.dense", y, config.hidden), config.dropout)
        return net.layer_norm(f"{at}.{name}.LayerNorm", x + y)

    heads = (*x.shape[:2], config.heads, -1)
    query, key, value = (
        tf.reshape(net.linear(f"{at}.attention.self.{name}", x, config.hidden), heads)
        for name in ("query", "key", "value")
    )
    y = tf.reshape(net.attention(query, key, value, config.dropout), x.shape)
    x = summed("attention.output", x, y)
    return summed("output", x, gelu(net.linear(f"{at}.intermediate.dense", x, config.intermediate)))


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    masked = cross_entropy(outputs["mlm_logits"], batch["masked_labels"])
    return masked + cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
