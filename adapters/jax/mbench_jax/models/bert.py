"""BERT pre-training; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from mbench_jax.layers import UNFUSED_ATTENTION, Array, Net, Tensors, cross_entropy

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
DIFFERENCES = (UNFUSED_ATTENTION,)
gelu = partial(jax.nn.gelu, approximate=False)


def forward(net: Net, batch: Tensors) -> Tensors:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    config, at = net.config, "bert.embeddings"
    words = net.embedding(f"{at}.word_embeddings", config.vocabulary, config.hidden)
    places = net.embedding(f"{at}.position_embeddings", config.positions, config.hidden)
    types = net.embedding(f"{at}.token_type_embeddings", config.token_types, config.hidden)
    x = words[batch["input_ids"]] + types[batch["token_type_ids"]]  # (B, L, D)
    x = net.layer_norm(f"{at}.LayerNorm", x + places[: x.shape[1]])
    x = net.dropout(x, config.dropout)
    for layer in range(config.layers):
        x = encoded(net, f"bert.encoder.layer.{layer}", x)
    pooled = jnp.tanh(net.linear("bert.pooler.dense", x[:, 0], config.hidden))  # (B, D)
    next_logits = net.linear("cls.seq_relationship", pooled, 2)
    x = jnp.take_along_axis(x, batch["masked_positions"][..., None], axis=1)  # (B, P, D)
    x = gelu(net.linear("cls.predictions.transform.dense", x, config.hidden))
    x = net.layer_norm("cls.predictions.transform.LayerNorm", x)
    (bias,) = net.cast(net.tensor("cls.predictions.bias", (config.vocabulary,)))
    return {"mlm_logits": x @ words.T + bias, "nsp_logits": next_logits}  # (B, P, V), (B, 2)


def encoded(net: Net, at: str, x: Array) -> Array:
    """Attention and an MLP, each with a sum and a layer norm after it."""
    config = net.config

    def summed(name: str, x: Array, y: Array) -> Array:
        y = net.dropout(net.linear(f"{at}.{name}.dense", y, config.hidden), config.dropout)
        return net.layer_norm(f"{at}.{name}.LayerNorm", x + y)

    heads = (*x.shape[:2], config.heads, -1)
    query, key, value = (
        net.linear(f"{at}.attention.self.{name}", x, config.hidden).reshape(heads)
        for name in ("query", "key", "value")
    )
    y = net.attention(query, key, value, config.dropout).reshape(x.shape)
    x = summed("attention.output", x, y)
    return summed("output", x, gelu(net.linear(f"{at}.intermediate.dense", x, config.intermediate)))


def loss(outputs: Tensors, batch: Tensors) -> Array:
    masked = cross_entropy(outputs["mlm_logits"], batch["masked_labels"])
    return masked + cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
