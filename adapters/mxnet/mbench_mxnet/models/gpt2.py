"""GPT-2 as a causal language model in Gluon; names as in transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, D hidden, H heads, V vocabulary.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench_mxnet.layers import LayerNorm, Projection, cross_entropy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.gpt2 import GPT2Config

__all__ = ["build", "forward", "loss"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


class GPT2(gluon.HybridBlock):
    """GPT-2; its head is tied to the token embedding."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.transformer = Transformer(config)
        self.lm_head = nn.Dense(
            config.vocabulary,
            in_units=config.hidden,
            use_bias=False,
            flatten=False,
            params=self.transformer.wte.params,
        )

    def hybrid_forward(self, F: Any, input_ids: Any) -> Any:
        """(B, L) -> (B, L, V)."""
        return self.lm_head(self.transformer(input_ids))


class Transformer(gluon.HybridBlock):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocabulary, config.hidden)
        self.wpe = nn.Embedding(config.positions, config.hidden)
        self.drop = nn.Dropout(config.dropout)
        self.h = nn.HybridSequential()
        for _ in range(config.layers):
            self.h.add(Block(config))
        self.ln_f = normalization(config)

    def hybrid_forward(self, F: Any, input_ids: Any) -> Any:
        """(B, L) -> (B, L, D)."""
        positions = F.contrib.arange_like(input_ids, axis=1)  # (L,)
        x = F.broadcast_add(self.wte(input_ids), self.wpe(positions).expand_dims(0))
        return self.ln_f(self.h(self.drop(x)))


class Block(gluon.HybridBlock):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.ln_1 = normalization(config)
        self.attn = Attention(config)
        self.ln_2 = normalization(config)
        self.mlp = MLP(config)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Attention(gluon.HybridBlock):
    """Every token attends to itself and to those before it."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self._heads = config.heads
        self._scale = 1 / math.sqrt(config.hidden // config.heads)
        self.c_attn = Projection(config.hidden, 3 * config.hidden)
        self.c_proj = Projection(config.hidden, config.hidden)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        parts = F.split(self.c_attn(x), num_outputs=3, axis=2)
        query, key, value = (self.split(part) for part in parts)
        scores = F.batch_dot(query * self._scale, key, transpose_b=True)  # (B * H, L, L)
        weights = self.attn_dropout(F.softmax(scores, past(F, scores), use_length=True))
        attended = F.batch_dot(weights, value)  # (B * H, L, D/H)
        attended = attended.reshape((-4, -1, self._heads, -2))  # (B, H, L, D/H)
        attended = attended.transpose((0, 2, 1, 3)).reshape((0, 0, -3))
        return self.resid_dropout(self.c_proj(attended))

    def split(self, x: Any) -> Any:
        """(B, L, D) -> (B * H, L, D/H)."""
        x = x.reshape((0, 0, -4, self._heads, -1))
        return x.transpose((0, 2, 1, 3)).reshape((-3, -2))


def past(F: Any, scores: Any) -> Any:
    """How many tokens each token sees: 1 to L, in each row of (B * H, L)."""
    counts = F.contrib.arange_like(scores, axis=1, start=1).expand_dims(0)  # (1, L)
    return F.broadcast_like(counts, scores, lhs_axes=(0,), rhs_axes=(0,)).astype("int32")


class MLP(gluon.HybridBlock):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.c_fc = Projection(config.hidden, 4 * config.hidden)
        self.c_proj = Projection(4 * config.hidden, config.hidden)
        self.dropout = nn.Dropout(config.dropout)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        return self.dropout(self.c_proj(gelu(F, self.c_fc(x))))


def gelu(F: Any, x: Any) -> Any:
    """The approximation by tanh: MXNet has no kernel. (1 + tanh(y)) / 2 is sigmoid(2 * y)."""
    scale = 2 * math.sqrt(2 / math.pi)
    return x * F.sigmoid(x * (scale + scale * 0.044715 * F.square(x)))


def normalization(config: GPT2Config) -> LayerNorm:
    return LayerNorm(epsilon=config.epsilon, in_channels=config.hidden)


def build(config: GPT2Config) -> gluon.HybridBlock:
    return GPT2(config)


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """input_ids (B, L) -> logits (B, L, V)."""
    return {"logits": model(batch["input_ids"])}


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    return cross_entropy(outputs["logits"], batch["labels"])
