"""GPT-2 as a causal language model; names as in transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, D hidden, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.sdk.networks.net import Array, Net

__all__ = ["forward"]


def forward(net: Net[Array], batch: Mapping[str, Array]) -> dict[str, Array]:
    """input_ids (B, L) -> logits (B, L, V); the head is tied to the token embedding."""
    config, tokens = net.config, batch["input_ids"]
    words = net.embedding("transformer.wte", config.vocabulary, config.hidden)
    places = net.embedding("transformer.wpe", config.positions, config.hidden)
    x = net.sum(net.rows(words, tokens), net.first_rows(places, tokens.shape[1]))
    x = net.dropout(x, config.dropout)  # (B, L, D)
    for layer in range(config.layers):
        x = net.layer(block, f"transformer.h.{layer}", x)
    return {"logits": net.scores(net.layer_norm("transformer.ln_f", x), words)}


def block(net: Net[Array], at: str, x: Array) -> Array:
    """Attention and an MLP, each with a layer norm before it and a sum after."""
    rate, heads = net.config.dropout, net.config.heads
    size, length, hidden = x.shape

    def linear(name: str, x: Array, outputs: int) -> Array:
        return net.linear(f"{at}.{name}", x, outputs, axes=())

    y = linear("attn.c_attn", net.layer_norm(f"{at}.ln_1", x), 3 * hidden)
    query, key, value = (
        net.reshaped(part, size, length, heads, hidden // heads) for part in net.thirds(y)
    )
    y = net.attention(query, key, value, rate, causal=True)
    y = linear("attn.c_proj", net.reshaped(y, size, length, hidden), hidden)
    x = net.sum(x, net.dropout(y, rate))
    y = net.tanh_gelu(linear("mlp.c_fc", net.layer_norm(f"{at}.ln_2", x), 4 * hidden))
    return net.sum(x, net.dropout(linear("mlp.c_proj", y, hidden), rate))
