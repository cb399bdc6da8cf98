"""Decoders in paddle.nn that read prompts into a cache; names as in transformers.

Shapes: B batch, L sequence, D hidden, Q heads, H heads of keys and values, G query heads for each
of these, W width of a head, T positions of a cache, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.layers import exact, exactly
from mbench_paddle.precision import wide
from mbench_paddle.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mbench.workloads.llama import LlamaConfig

    Tensors = Mapping[str, paddle.Tensor]
    Rows = list[paddle.Tensor]
    """Keys and values, layer after layer, each (B, L, H, W); in a cache, L is T."""
    Function = Callable[[Mapping[str, Any]], Rows]
    Place = tuple[int, paddle.Tensor]
    """A position, and the same as an int64 tensor (1) on the device."""

__all__ = ["DIFFERENCES", "Decoder", "advance", "forward", "layers", "loss", "prefill",
           "projection", "read", "room", "take"]  # fmt: skip

MASKED = -1e4
"""A score whose exponential is 0: PaddlePaddle's own number, which float16 can hold too. With
infinity, to_static would compile in each step."""
DIFFERENCES = (
    f"{ATTENTION}, as everywhere for the tokens of decode",
    "rotations come from a table in place of sines in each step",
)


class Decoder(nn.Layer):
    """`mlp` makes a layer's MLP from the configuration."""

    def __init__(self, config: LlamaConfig, *, mlp: Callable[[Any], nn.Layer]) -> None:
        super().__init__()
        self.config = config
        self.model = Body(config, mlp)
        if not config.tied:
            self.lm_head = projection(config.hidden, config.vocabulary)

    def forward(self, tokens: paddle.Tensor) -> paddle.Tensor:
        """(B, L) -> logits of the last positions (B, kept, V)."""
        kept = self.config.logits_to_keep
        x, _ = self.model(tokens, [])
        return self.scores(x[:, -kept:] if kept else x)

    def scores(self, x: paddle.Tensor) -> paddle.Tensor:
        """(B, L, D) -> (B, L, V)."""
        if not self.config.tied:
            return self.lm_head(x)
        return paddle.matmul(x, self.model.embed_tokens.weight, transpose_y=True)


class Body(nn.Layer):
    def __init__(self, config: LlamaConfig, mlp: Callable[[Any], nn.Layer]) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocabulary, config.hidden)
        self.layers = nn.LayerList([Block(config, mlp(config)) for _ in range(config.layers)])
        self.norm = RMSNorm(config)
        kind = paddle.get_default_dtype()
        for name, table in zip(("cosines", "sines"), config.rotations(), strict=True):
            tensor = paddle.to_tensor(table.astype(kind)).unsqueeze(1)  # (T, 1, W/2)
            self.register_buffer(name, tensor, persistable=False)

    def forward(self, tokens: paddle.Tensor, past: Rows) -> tuple[paddle.Tensor, Rows]:
        """(B, L) -> (B, L, D), and the tokens' keys and values.

        `past` is empty or, if L is 1, the token's position (1) followed by the cache. Testing for
        None would break to_static's graph.
        """
        x, rows = self.embed_tokens(tokens), []
        if past:
            turns = [paddle.gather(table, past[0]) for table in (self.cosines, self.sines)]
        else:
            turns = [table[: tokens.shape[1]] for table in (self.cosines, self.sines)]
        for number, block in enumerate(self.layers):
            own = [past[0], past[2 * number + 1], past[2 * number + 2]] if past else []
            x, key, value = block(x, turns, own)
            rows += [key, value]
        return self.norm(x), rows


class Block(nn.Layer):
    def __init__(self, config: LlamaConfig, mlp: nn.Layer) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RMSNorm(config)
        self.mlp = mlp

    def forward(
        self,
        x: paddle.Tensor,
        turns: Sequence[paddle.Tensor],
        past: Rows,
    ) -> tuple[paddle.Tensor, paddle.Tensor, paddle.Tensor]:
        """(B, L, D) -> (B, L, D), and keys and values (B, L, H, W)."""
        attended, key, value = self.self_attn(self.input_layernorm(x), turns, past)
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), key, value


class Attention(nn.Layer):
    """Every token attends to itself and to those before it."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.exact = exact()
        self.width = config.width  # because to_static does not know properties of dataclasses
        shared = config.key_value_heads * config.width
        self.q_proj = projection(config.hidden, config.hidden)
        self.k_proj = projection(config.hidden, shared)
        self.v_proj = projection(config.hidden, shared)
        self.o_proj = projection(config.hidden, config.hidden)

    def forward(
        self,
        x: paddle.Tensor,
        turns: Sequence[paddle.Tensor],
        past: Rows,
    ) -> tuple[paddle.Tensor, paddle.Tensor, paddle.Tensor]:
        """(B, L, D) -> (B, L, D), and keys and values (B, L, H, W)."""
        query = rotated(self.split(self.q_proj(x)), turns)
        key = rotated(self.split(self.k_proj(x)), turns)
        value = self.split(self.v_proj(x)).astype(key.dtype)
        if past:
            attended = attention_by(query, key, value, *past)
        else:
            scale = None
            if self.exact:  # in a static graph, PaddlePaddle's own scale is float32
                query, scale = query * exactly(1 / math.sqrt(self.width), like=query), 1.0
            attended = F.scaled_dot_product_attention(
                query, key, value, is_causal=True, scale=scale
            )
        return self.o_proj(attended.flatten(2)), key, value

    def split(self, x: paddle.Tensor) -> paddle.Tensor:
        """(B, L, heads W) -> (B, L, heads, W)."""
        return x.reshape([x.shape[0], x.shape[1], -1, self.width])


def attention_by(
    query: paddle.Tensor,
    key: paddle.Tensor,
    value: paddle.Tensor,
    position: paddle.Tensor,
    keys: paddle.Tensor,
    values: paddle.Tensor,
) -> paddle.Tensor:
    """For one token: (B, 1, Q, W), twice (B, 1, H, W), (1), twice (B, T, H, W) -> (B, 1, Q, W).

    Its own key and value are not in the cache yet, so the graph writes to no input, and copies
    none.
    """
    size, _, heads, width = key.shape
    query = query.reshape([size, heads, -1, width])  # (B, H, G, W)
    query = query * exactly(1 / math.sqrt(width), like=query)
    scores = paddle.matmul(query, keys.transpose([0, 2, 3, 1]))  # (B, H, G, T)
    there = paddle.arange(keys.shape[1]) < position  # (T)
    scores = paddle.where(there, scores, exactly(MASKED, like=scores))
    own = paddle.matmul(query, key.transpose([0, 2, 3, 1]))  # (B, H, G, 1)
    weights = F.softmax(paddle.concat([scores, own], axis=-1))
    attended = paddle.matmul(weights[..., :-1], values.transpose([0, 2, 1, 3]))
    attended = attended + weights[..., -1:] * value.transpose([0, 2, 1, 3])
    return attended.reshape([size, 1, -1, width])


class RMSNorm(nn.Layer):
    """In float32 at least, except for the product with the weight: like PaddleNLP's LlamaRMSNorm,
    since Paddle's own kernel is for CUDA.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.weight = self.create_parameter([config.hidden])
        self.epsilon = config.epsilon

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        own = wide(x)
        mean = own.square().mean(-1, keepdim=True)
        own = own * paddle.rsqrt(mean + exactly(self.epsilon, like=mean))
        return own.astype(self.weight.dtype) * self.weight


def rotated(x: paddle.Tensor, turns: Sequence[paddle.Tensor]) -> paddle.Tensor:
    """(B, L, heads, W): channels i and i + W/2 are turned as a pair."""
    one, other = x.chunk(2, axis=-1)
    cosines, sines = turns
    return paddle.concat([one * cosines - other * sines, other * cosines + one * sines], axis=-1)


def projection(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias_attr=False)


def layers(model: Decoder) -> Iterable[nn.Layer]:
    return model.model.layers


def forward(model: nn.Layer, batch: Tensors) -> dict[str, paddle.Tensor]:
    """input_ids (B, L) -> logits of the last positions (B, kept, V)."""
    return {"logits": model(batch["input_ids"])}


def loss(outputs: Tensors, batch: Tensors) -> paddle.Tensor:
    return F.cross_entropy(outputs["logits"].flatten(0, 1), batch["labels"].flatten())


def room(model: Decoder, size: int, dtype: str) -> Rows:
    """An empty cache for `size` sequences."""
    config = model.config
    shape = [size, config.sequence_length, config.key_value_heads, config.width]
    return [paddle.zeros(shape, dtype) for _ in range(2 * config.layers)]


def read(model: Decoder, batch: Tensors) -> Rows:
    """tokens (B, L) -> the last position's logits (B, 1, V), followed by the prompts' rows."""
    x, rows = model.model(batch["tokens"], [])
    return [model.scores(x[:, -1:]), *rows]


def take(model: Decoder, batch: Mapping[str, paddle.Tensor | Rows]) -> Rows:
    """token (B, 1), position (1), cache -> the token's logits (B, V), followed by its rows."""
    x, rows = model.model(batch["token"], [batch["position"], *batch["cache"]])
    return [model.scores(x)[:, 0], *rows]


def prefill(read: Function, cache: Rows, tokens: paddle.Tensor) -> paddle.Tensor:
    """(B, L) -> the last position's logits (B, 1, V). Stores the prompts in the cache."""
    logits, *rows = read({"tokens": tokens})
    write(cache, rows, slice(0, tokens.shape[1]))
    return logits


def advance(take: Function, cache: Rows, token: paddle.Tensor, place: Place) -> paddle.Tensor:
    """A token (B, 1) at its position -> its logits (B, V). Stores it in the cache."""
    at, position = place
    logits, *rows = take({"token": token, "position": position, "cache": cache})
    write(cache, rows, slice(at, at + 1))
    return logits


def write(cache: Rows, rows: Rows, at: slice) -> None:
    """Write `rows`, those of the positions `at`, in place."""
    for kept, new in zip(cache, rows, strict=True):
        kept[:, at] = new
