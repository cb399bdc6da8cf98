"""Llama as a causal language model in Gluon; names as in transformers' LlamaForCausalLM.

Shapes: B batch, L sequence, D hidden, Q heads, H heads of keys and values, G query heads for each
of these, W width of a head, T positions of a cache, V vocabulary.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mxnet import gluon, nd
from mxnet.gluon import nn

from mbench_mxnet.decoder import RMSNorm, attention, rotated
from mbench_mxnet.layers import cross_entropy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.workloads.llama import LlamaConfig

    Cache = Sequence[nd.NDArray]
    """Keys and values, layer after layer, each (B H, T, W)."""
    Place = tuple[int, nd.NDArray]
    """A position, and the same as an int32 array (1) on the device."""

__all__ = ["DIFFERENCES", "Reader", "Writer", "advance", "build", "forward", "loss", "prefill",
           "room"]  # fmt: skip

DIFFERENCES = (
    "attention is two matrix products around a softmax, not one fused kernel",
    "rotations come from a table in place of sines in each step",
)


class Llama(gluon.HybridBlock):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        self.model = Body(config)
        self.lm_head = projection(
            config.hidden,
            config.vocabulary,
            params=self.model.embed_tokens.params if config.tied else None,
        )

    def hybrid_forward(self, F: Any, tokens: Any) -> Any:
        """(B, L) -> logits of the last positions (B, kept, V)."""
        x, _ = self.model(tokens, F.contrib.arange_like(tokens, axis=1))
        kept = self.config.logits_to_keep
        return self.lm_head(F.slice_axis(x, axis=1, begin=-kept, end=None) if kept else x)


class Reader(gluon.HybridBlock):
    """Reads prompts."""

    def __init__(self, llama: Llama) -> None:
        super().__init__()
        self.llama = llama

    def hybrid_forward(self, F: Any, tokens: Any) -> tuple[Any, ...]:
        """(B, L) -> the last position's logits (B, 1, V), and keys and values (B H, L, W)."""
        x, rows = self.llama.model(tokens, F.contrib.arange_like(tokens, axis=1))
        return self.llama.lm_head(F.slice_axis(x, axis=1, begin=-1, end=None)), *rows


class Writer(gluon.HybridBlock):
    """Takes the token after those whose keys and values a cache has."""

    def __init__(self, llama: Llama) -> None:
        super().__init__()
        self.llama = llama

    def hybrid_forward(self, F: Any, token: Any, position: Any, *cache: Any) -> tuple[Any, ...]:
        """(B, 1), (1), (B H, T, W) -> its logits (B, V), and its keys and values (B H, 1, W)."""
        x, rows = self.llama.model(token, position, *cache)
        return self.llama.lm_head(x).reshape((-3, -2)), *rows


class Body(gluon.HybridBlock):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocabulary, config.hidden)
        self.layers = nn.HybridSequential()
        for _ in range(config.layers):
            self.layers.add(Block(config))
        self.norm = RMSNorm(config)
        for name, table in zip(("cosines", "sines"), config.rotations(), strict=True):
            setattr(self, name, self.params.get_constant(name, nd.array(table, dtype="float64")))

    def hybrid_forward(
        self, F: Any, tokens: Any, positions: Any, *cache: Any, cosines: Any, sines: Any
    ) -> tuple[Any, list[Any]]:
        """(B, L), (L) -> (B, L, D), and keys and values as in Reader. With a cache, L is 1."""
        x, rows = self.embed_tokens(tokens), []
        # (1, L, 1, W/2)
        turns = [
            F.take(table, positions).expand_dims(0).expand_dims(2) for table in (cosines, sines)
        ]
        for number, block in enumerate(self.layers):
            x, key, value = block(x, positions, *turns, *cache[2 * number : 2 * number + 2])
            rows += [key, value]
        return self.norm(x), rows


class Block(gluon.HybridBlock):
    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config)
        self.mlp = MLP(config)

    def hybrid_forward(self, F: Any, x: Any, *others: Any) -> tuple[Any, Any, Any]:
        """(B, L, D) -> (B, L, D), and keys and values (B H, L, W)."""
        attended, key, value = self.self_attn(self.input_layernorm(x), *others)
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), key, value


class Attention(gluon.HybridBlock):
    """Every token attends to itself and to those before it."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self._heads, self._shared = config.heads, config.key_value_heads
        self._scale = 1 / math.sqrt(config.width)
        shared = config.key_value_heads * config.width
        self.q_proj = projection(config.hidden, config.hidden)
        self.k_proj = projection(config.hidden, shared)
        self.v_proj = projection(config.hidden, shared)
        self.o_proj = projection(config.hidden, config.hidden)

    def hybrid_forward(
        self, F: Any, x: Any, positions: Any, cosines: Any, sines: Any, *cache: Any
    ) -> tuple[Any, Any, Any]:
        """(B, L, D) -> (B, L, D), and keys and values (B H, L, W)."""
        query = rotated(F, self.split(self.q_proj(x), self._heads), cosines, sines)
        key = rotated(F, self.split(self.k_proj(x), self._shared), cosines, sines)
        query = query.transpose((0, 2, 1, 3)) * self._scale  # (B, Q, L, W)
        # (B H, G L, W): the heads of a group are rows of one product.
        query = query.reshape((0, -4, self._shared, -1, -2)).reshape((-3, -3, 0))
        key = key.transpose((0, 2, 1, 3)).reshape((-3, -2))  # (B H, L, W)
        value = self.split(self.v_proj(x), self._shared)
        value = value.transpose((0, 2, 1, 3)).reshape((-3, -2))
        groups = self._heads // self._shared
        if cache:
            attended = attention_by(F, query, key, value, positions, *cache)
        else:
            attended = attention(F, query, key, value, groups)
        # (B H, G L, W) -> (B, L, D)
        attended = attended.reshape((0, -4, groups, -1, 0)).reshape((-3, 0, 0))  # (B Q, L, W)
        attended = attended.reshape((-4, -1, self._heads, 0, 0)).transpose((0, 2, 1, 3))
        return self.o_proj(attended.reshape((0, 0, -3))), key, value

    def split(self, x: Any, heads: int) -> Any:
        """(B, L, heads W) -> (B, L, heads, W)."""
        return x.reshape((0, 0, -4, heads, -1))


def attention_by(
    F: Any, query: Any, key: Any, value: Any, position: Any, keys: Any, values: Any
) -> Any:
    """For one token: (B H, G, W), twice (B H, 1, W), (1), twice (B H, T, W) -> (B H, G, W).

    Its own key and value are not in the cache yet, so the graph writes to no input, and copies
    none. They come first, because all that follows the filled part of the cache is masked.
    """
    scores = F.concat(
        F.batch_dot(query, key, transpose_b=True), F.batch_dot(query, keys, transpose_b=True), dim=2
    )  # (B H, G, 1 + T)
    seen = (position + 1).expand_dims(0)
    seen = F.broadcast_like(seen, scores, lhs_axes=(0, 1), rhs_axes=(0, 1)).astype("int32")
    weights = F.softmax(scores, seen, use_length=True)
    own, others = (F.slice_axis(weights, axis=2, begin=at[0], end=at[1])
                   for at in ((0, 1), (1, None)))  # fmt: skip
    return F.broadcast_mul(own, value) + F.batch_dot(others, values)


class MLP(gluon.HybridBlock):
    """SwiGLU."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        narrow, wide = config.hidden, config.intermediate
        self.gate_proj, self.up_proj = projection(narrow, wide), projection(narrow, wide)
        self.down_proj = projection(wide, narrow)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        gate = self.gate_proj(x)
        return self.down_proj(gate * F.sigmoid(gate) * self.up_proj(x))


def projection(inputs: int, outputs: int, params: Any = None) -> nn.Dense:
    return nn.Dense(outputs, in_units=inputs, use_bias=False, flatten=False, params=params)


def build(config: LlamaConfig) -> gluon.HybridBlock:
    return Llama(config)


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """input_ids (B, L) -> logits of the last positions (B, kept, V)."""
    return {"logits": model(batch["input_ids"])}


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    return cross_entropy(outputs["logits"], batch["labels"])


def room(model: Llama, size: int, **kind: Any) -> Cache:
    """An empty cache for `size` sequences."""
    config = model.config
    shape = size * config.key_value_heads, config.sequence_length, config.width
    return [nd.zeros(shape, **kind) for _ in range(2 * config.layers)]


def prefill(reader: gluon.HybridBlock, cache: Cache, tokens: nd.NDArray) -> nd.NDArray:
    """(B, L) -> the last position's logits (B, 1, V). Stores the prompts in the cache."""
    logits, *rows = reader(tokens)
    write(cache, rows, 0, tokens.shape[1])
    return logits


def advance(writer: gluon.HybridBlock, cache: Cache, token: nd.NDArray, place: Place) -> nd.NDArray:
    """A token (B, 1) at its position -> its logits (B, V). Stores it in the cache."""
    at, position = place
    logits, *rows = writer(token, position, *cache)
    write(cache, rows, at, at + 1)
    return logits


def write(cache: Cache, rows: Sequence[nd.NDArray], begin: int, end: int) -> None:
    """Write `rows`, those of the positions from `begin` on, in place."""
    for kept, new in zip(cache, rows, strict=True):
        nd._internal._slice_assign(
            kept, new, out=kept, begin=(None, begin, None), end=(None, end, None)
        )
