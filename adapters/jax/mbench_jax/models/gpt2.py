"""GPT-2 as a causal language model; names as in transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, D hidden, V vocabulary.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax.nn import gelu

from mbench_jax.images import loss
from mbench_jax.layers import UNFUSED_ATTENTION, Array, Net, Tensors

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

build = Net
DIFFERENCES = (UNFUSED_ATTENTION,)


def forward(net: Net, batch: Tensors) -> Tensors:
    """input_ids (B, L) -> logits (B, L, V); the head is tied to the token embedding."""
    config, tokens = net.config, batch["input_ids"]
    words = net.embedding("transformer.wte", config.vocabulary, config.hidden)
    places = net.embedding("transformer.wpe", config.positions, config.hidden)
    x = net.dropout(words[tokens] + places[: tokens.shape[1]], config.dropout)  # (B, L, D)
    for layer in range(config.layers):
        x = block(net, f"transformer.h.{layer}", x)
    return {"logits": net.layer_norm("transformer.ln_f", x) @ words.T}


def block(net: Net, at: str, x: Array) -> Array:
    """Attention and an MLP, each with a layer norm before it and a sum after."""

    def linear(name: str, x: Array, outputs: int) -> Array:
        return net.linear(f"{at}.{name}", x, outputs, axes=())

    rate, hidden = net.config.dropout, net.config.hidden
    y = linear("attn.c_attn", net.layer_norm(f"{at}.ln_1", x), 3 * hidden)
    heads = (*x.shape[:2], net.config.heads, -1)
    query, key, value = (part.reshape(heads) for part in jnp.split(y, 3, axis=-1))
    y = net.attention(query, key, value, rate, causal=True).reshape(x.shape)
    x = x + net.dropout(linear("attn.c_proj", y, hidden), rate)
    y = gelu(linear("mlp.c_fc", net.layer_norm(f"{at}.ln_2", x), 4 * hidden), approximate=True)
    return x + net.dropout(linear("mlp.c_proj", y, hidden), rate)
