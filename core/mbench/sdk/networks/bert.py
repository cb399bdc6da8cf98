"""BERT pre-training; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    config, at = net.config, "bert.embeddings"
    words = net.embedding(f"{at}.word_embeddings", config.vocabulary, config.hidden)
    places = net.embedding(f"{at}.position_embeddings", config.positions, config.hidden)
    types = net.embedding(f"{at}.token_type_embeddings", config.token_types, config.hidden)
    tokens = batch["input_ids"]
    x = net.sum(net.rows(words, tokens), net.rows(types, batch["token_type_ids"]))  # (B, L, D)
    x = net.layer_norm(f"{at}.LayerNorm", net.sum(x, net.first_rows(places, tokens.shape[1])))
    x = net.dropout(x, config.dropout)
    for layer in range(config.layers):
        x = net.layer(encoded, f"bert.encoder.layer.{layer}", x)
    pooled = net.linear("bert.pooler.dense", net.first_position(x), config.hidden)  # (B, D)
    next_logits = net.linear("cls.seq_relationship", net.tanh(pooled), 2)
    x = net.positions(x, batch["masked_positions"])  # (B, P, D)
    x = net.gelu(net.linear("cls.predictions.transform.dense", x, config.hidden))
    x = net.layer_norm("cls.predictions.transform.LayerNorm", x)
    logits = net.biased(net.scores(x, words), "cls.predictions.bias")
    return {"mlm_logits": logits, "nsp_logits": next_logits}  # (B, P, V), (B, 2)


def encoded(net: Net[Array], at: str, x: Array) -> Array:
    """Attention and an MLP, each with a sum and a layer norm after it."""
    config = net.config
    size, length, hidden = x.shape
    width = hidden // config.heads

    def summed(name: str, x: Array, y: Array) -> Array:
        y = net.dropout(net.linear(f"{at}.{name}.dense", y, hidden), config.dropout)
        return net.layer_norm(f"{at}.{name}.LayerNorm", net.sum(x, y))

    query, key, value = (
        net.reshaped(
            net.linear(f"{at}.attention.self.{name}", x, hidden), size, length, config.heads, width
        )
        for name in ("query", "key", "value")
    )
    y = net.reshaped(net.attention(query, key, value, config.dropout), size, length, hidden)
    x = summed("attention.output", x, y)
    y = net.gelu(net.linear(f"{at}.intermediate.dense", x, config.intermediate))
    return summed("output", x, y)
