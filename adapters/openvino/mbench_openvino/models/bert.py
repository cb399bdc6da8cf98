"""BERT pre-training; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbench_openvino.layers import Net, Value

__all__ = ["DIFFERENCES", "forward"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


def forward(net: Net, batch: dict[str, Value]) -> dict[str, Value]:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    config, at = net.config, "bert.embeddings"
    length = batch["input_ids"].shape[1]

    def table(name: str, rows: int) -> Value:
        return net.tensor(f"{at}.{name}_embeddings.weight", (rows, config.hidden))

    words = table("word", config.vocabulary)
    places = net.rows(table("position", config.positions), net.constant(range(length)))  # (L, D)
    types = net.rows(table("token_type", config.token_types), batch["token_type_ids"])
    x = net.sum(net.sum(net.rows(words, batch["input_ids"]), types), places)  # (B, L, D)
    x = net.layer_norm(f"{at}.LayerNorm", x)
    for layer in range(config.layers):
        x = encoded(net, f"bert.encoder.layer.{layer}", x)
    first = net.rows(x, net.constant(0), axis=1)  # (B, D)
    pooled = net.tanh(net.linear("bert.pooler.dense", first, config.hidden))
    next_logits = net.linear("cls.seq_relationship", pooled, 2)
    x = net.rows(x, batch["masked_positions"], axis=1, each=True)  # (B, P, D)
    x = net.gelu(net.linear("cls.predictions.transform.dense", x, config.hidden))
    x = net.layer_norm("cls.predictions.transform.LayerNorm", x)
    bias = net.tensor("cls.predictions.bias", (config.vocabulary,))
    logits = net.sum(net.product(x, words), bias)
    return {"mlm_logits": logits, "nsp_logits": next_logits}  # (B, P, V), (B, 2)


def encoded(net: Net, at: str, x: Value) -> Value:
    """Attention and an MLP, each with a sum and a layer norm after it."""
    config = net.config
    size, length, hidden = x.shape
    width = hidden // config.heads

    def summed(name: str, x: Value, y: Value) -> Value:
        y = net.linear(f"{at}.{name}.dense", y, hidden)
        return net.layer_norm(f"{at}.{name}.LayerNorm", net.sum(x, y))

    def heads(name: str) -> Value:
        y = net.linear(f"{at}.attention.self.{name}", x, hidden)
        return net.transposed(net.reshaped(y, size, length, config.heads, width), 0, 2, 1, 3)

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = net.times(net.product(query, key), 1 / math.sqrt(width))
    y = net.product(net.softmax(scores), value, turned=False)
    y = net.reshaped(net.transposed(y, 0, 2, 1, 3), size, length, hidden)
    x = summed("attention.output", x, y)
    return summed(
        "output", x, net.gelu(net.linear(f"{at}.intermediate.dense", x, config.intermediate))
    )
