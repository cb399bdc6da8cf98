"""BERT pre-training; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbench_onnxruntime.layers import Net, Value

__all__ = ["DIFFERENCES", "forward"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


def forward(net: Net, batch: dict[str, Value]) -> dict[str, Value]:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    config, at = net.config, "bert.embeddings"
    size, length = batch["input_ids"].shape

    def table(name: str, rows: int) -> Value:
        return net.tensor(f"{at}.{name}_embeddings.weight", (rows, config.hidden))

    def rows(of: Value, ids: Value) -> Value:
        return net.add("Gather", of, ids, shape=(*ids.shape, config.hidden), axis=0)

    words = table("word", config.vocabulary)
    places = rows(table("position", config.positions), net.constant(range(length)))  # (L, D)
    types = rows(table("token_type", config.token_types), batch["token_type_ids"])
    x = net.sum(net.sum(rows(words, batch["input_ids"]), types), places)  # (B, L, D)
    x = net.layer_norm(f"{at}.LayerNorm", x)
    for layer in range(config.layers):
        x = encoded(net, f"bert.encoder.layer.{layer}", x)
    first = net.add("Gather", x, net.constant(0), shape=(size, config.hidden), axis=1)
    pooled = net.add("Tanh", net.linear("bert.pooler.dense", first, config.hidden))
    next_logits = net.linear("cls.seq_relationship", pooled, 2)
    chosen = batch["masked_positions"]
    places = net.add("Unsqueeze", chosen, net.constant([2]), shape=(*chosen.shape, 1))
    shape = (*chosen.shape, config.hidden)
    x = net.add("GatherND", x, places, shape=shape, batch_dims=1)  # (B, P, D)
    x = gelu(net, net.linear("cls.predictions.transform.dense", x, config.hidden))
    x = net.layer_norm("cls.predictions.transform.LayerNorm", x)
    turned = net.transposed(words, 1, 0)  # a constant, so done once
    x = net.add("MatMul", x, turned, shape=(*chosen.shape, config.vocabulary))
    bias = net.tensor("cls.predictions.bias", (config.vocabulary,))
    return {"mlm_logits": net.sum(x, bias), "nsp_logits": next_logits}  # (B, P, V), (B, 2)


def gelu(net: Net, x: Value) -> Value:
    return net.add("Gelu", x, approximate="none")


def encoded(net: Net, at: str, x: Value) -> Value:
    """Attention and an MLP, each with a sum and a layer norm after it."""
    config = net.config
    size, length, hidden = x.shape
    width = hidden // config.heads

    def summed(name: str, x: Value, y: Value) -> Value:
        y = net.linear(f"{at}.{name}.dense", y, hidden)
        return net.layer_norm(f"{at}.{name}.LayerNorm", net.sum(x, y))

    def heads(name: str, *axes: int) -> Value:
        y = net.linear(f"{at}.attention.self.{name}", x, hidden)
        return net.transposed(net.reshaped(y, size, length, config.heads, width), *axes)

    query, value = heads("query", 0, 2, 1, 3), heads("value", 0, 2, 1, 3)
    key = heads("key", 0, 2, 3, 1)
    scores = net.add("MatMul", query, key, shape=(size, config.heads, length, length))
    scores = net.add("Mul", scores, net.constant(1 / math.sqrt(width), "float32"))
    chances = net.add("Softmax", scores, axis=-1)
    y = net.add("MatMul", chances, value, shape=query.shape)
    y = net.reshaped(net.transposed(y, 0, 2, 1, 3), size, length, hidden)
    x = summed("attention.output", x, y)
    return summed(
        "output", x, gelu(net, net.linear(f"{at}.intermediate.dense", x, config.intermediate))
    )
