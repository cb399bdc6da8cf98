"""Llama as a causal language model; names as in transformers' LlamaForCausalLM.

Shapes: B batch, L sequence, D hidden, Q heads, H heads of keys and values, W width of a head,
T positions of a cache, V vocabulary.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mbench.contract.compat import zipped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.sdk.networks.net import Array, Net

    Cache = Sequence[tuple[Array, Array]]
    MLP = Callable[[Net[Array], str, Array], Array]
    """(B, L, D) -> (B, L, D), with the tensors whose names have that prefix."""

__all__ = ["advance", "forward", "prefill"]


def mlp(net: Net[Array], at: str, x: Array) -> Array:
    """SwiGLU."""
    config = net.config
    gate = net.silu(net.projected(f"{at}.gate_proj", x, config.intermediate))
    gated = net.product(gate, net.projected(f"{at}.up_proj", x, config.intermediate))
    return net.projected(f"{at}.down_proj", gated, config.hidden)


def forward(
    net: Net[Array], batch: Mapping[str, Array], *, mlp: MLP[Array] = mlp
) -> dict[str, Array]:
    """input_ids (B, L) -> logits of the last positions (B, kept, V)."""
    tokens = batch["input_ids"]
    cosines, sines = (table[: tokens.shape[1]] for table in net.config.rotations())

    def attend(layer: int, query: Array, key: Array, value: Array) -> Array:
        return net.grouped_attention(query, key, value)

    x = states(net, tokens, (net.constant(cosines), net.constant(sines)), attend, mlp)
    kept = net.config.logits_to_keep
    return {"logits": scores(net, net.last_positions(x, kept) if kept else x)}


def prefill(net: Net[Array], tokens: Array, *, mlp: MLP[Array] = mlp) -> tuple[Array, Cache[Array]]:
    """(B, L) -> the last position's logits (B, 1, V), and each layer's keys and values
    (B, T, H, W), filled for the prompt.
    """
    cosines, sines = (table[: tokens.shape[1]] for table in net.config.rotations())
    cache = []

    def attend(layer: int, query: Array, key: Array, value: Array) -> Array:
        room = net.config.sequence_length
        cache.append((net.roomy(key, room), net.roomy(value, room)))
        return net.grouped_attention(query, key, value)

    x = states(net, tokens, (net.constant(cosines), net.constant(sines)), attend, mlp)
    return scores(net, net.last_positions(x, 1)), cache


def advance(
    net: Net[Array],
    cache: Cache[Array],
    token: Array,
    position: Array,
    *,
    mlp: MLP[Array] = mlp,
) -> tuple[Array, Cache[Array]]:
    """A token (B, 1) at its position () -> its logits (B, V), and the cache with the token."""
    turns = tuple(net.row(net.constant(table), position) for table in net.config.rotations())
    new = []

    def attend(layer: int, query: Array, key: Array, value: Array) -> Array:
        keys, values = (
            net.put(kept, one, position) for kept, one in zipped(cache[layer], (key, value))
        )
        new.append((keys, values))
        return net.grouped_attention(query, keys, values, position)

    x = states(net, token, turns, attend, mlp)
    return net.first_position(scores(net, x)), new


def states(
    net: Net[Array],
    tokens: Array,
    turns: Sequence[Array],
    attend: Callable[[int, Array, Array, Array], Array],
    mlp: MLP[Array] = mlp,
) -> Array:
    """(B, L) -> (B, L, D), before the head; `mlp` is that of a layer."""
    config = net.config
    x = net.rows(words(net), tokens)

    def block(net: Net[Array], at: str, x: Array, *, layer: int) -> Array:
        y = net.rms_norm(f"{at}.input_layernorm", x)
        query, key, value = (
            net.reshaped(
                net.projected(f"{at}.self_attn.{name}_proj", y, heads * config.width),
                *tokens.shape, heads, config.width,
            )
            for name, heads in (
                ("q", config.heads), ("k", config.key_value_heads), ("v", config.key_value_heads),
            )
        )  # fmt: skip
        y = attend(layer, net.rotated(query, *turns), net.rotated(key, *turns), value)
        y = net.reshaped(y, *tokens.shape, config.hidden)
        x = net.sum(x, net.projected(f"{at}.self_attn.o_proj", y, config.hidden))
        y = mlp(net, f"{at}.mlp", net.rms_norm(f"{at}.post_attention_layernorm", x))
        return net.sum(x, y)

    for layer in range(config.layers):
        x = net.layer(partial(block, layer=layer), f"model.layers.{layer}", x)
    return net.rms_norm("model.norm", x)


def words(net: Net[Array]) -> Array:
    return net.embedding("model.embed_tokens", net.config.vocabulary, net.config.hidden)


def scores(net: Net[Array], x: Array) -> Array:
    """(B, L, D) -> (B, L, V)."""
    if net.config.tied:
        return net.scores(x, words(net))
    return net.projected("lm_head", x, net.config.vocabulary)
