"""GPT-2 as a causal language model; names as in transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, D hidden, H heads, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from mindspore import Tensor, nn, ops

from mbench_mindspore.layers import Dropout, Embedding, LayerNorm, Projection, attend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.gpt2 import GPT2Config

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


class GPT2LMHeadModel(nn.Cell):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.transformer = Transformer(config)

    def construct(self, tokens: Tensor) -> Tensor:
        """(B, L) -> (B, L, V); the head is tied to the token embedding (V, D)."""
        x = self.transformer(tokens)
        batch, length, hidden = x.shape
        words = self.transformer.wte.embedding_table
        rows = ops.matmul(x.reshape((batch * length, hidden)), words.swapaxes(0, 1))
        return rows.reshape((batch, length, -1))


class Transformer(nn.Cell):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.wte = Embedding(config.vocabulary, config.hidden)
        self.wpe = Embedding(config.positions, config.hidden)
        self.drop = Dropout(config.dropout)
        length = config.sequence_length
        self.later = Tensor(np.triu(np.full((length, length), -np.inf, np.float32), 1))
        self.h = nn.CellList([Block(config) for _ in range(config.layers)])
        self.ln_f = LayerNorm(config.hidden, epsilon=config.epsilon)

    def construct(self, tokens: Tensor) -> Tensor:
        """(B, L) -> (B, L, D)."""
        x = self.drop(self.wte(tokens) + self.wpe.embedding_table[: tokens.shape[1]])
        for block in self.h:
            x = block(x, self.later)
        return self.ln_f(x)


class Block(nn.Cell):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.ln_1 = LayerNorm(config.hidden, epsilon=config.epsilon)
        self.attn = Attention(config)
        self.ln_2 = LayerNorm(config.hidden, epsilon=config.epsilon)
        self.mlp = MLP(config)

    def construct(self, x: Tensor, later: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x), later)
        return x + self.mlp(self.ln_2(x))


class Attention(nn.Cell):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.c_attn = Projection(config.hidden, 3 * config.hidden)
        self.c_proj = Projection(config.hidden, config.hidden)
        self.attn_dropout = Dropout(config.dropout)
        self.resid_dropout = Dropout(config.dropout)

    def construct(self, x: Tensor, later: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        batch, length, hidden = x.shape
        split = (batch, length, self.heads, hidden // self.heads)
        query, key, value = ops.split(self.c_attn(x), hidden, axis=2)
        query = query.reshape(split).swapaxes(1, 2)  # (B, H, L, D/H)
        key = key.reshape(split).swapaxes(1, 2)
        value = value.reshape(split).swapaxes(1, 2)
        y = attend(query, key, value, self.attn_dropout, later).swapaxes(1, 2).reshape(x.shape)
        return self.resid_dropout(self.c_proj(y))


class MLP(nn.Cell):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.c_fc = Projection(config.hidden, 4 * config.hidden)
        self.c_proj = Projection(4 * config.hidden, config.hidden)
        self.dropout = Dropout(config.dropout)

    def construct(self, x: Tensor) -> Tensor:
        return self.dropout(self.c_proj(ops.gelu(self.c_fc(x), "tanh")))


def build(config: GPT2Config) -> nn.Cell:
    return GPT2LMHeadModel(config)


def forward(model: nn.Cell, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """input_ids (B, L) -> logits (B, L, V)."""
    return {"logits": model(batch["input_ids"])}


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    logits = outputs["logits"]
    return ops.cross_entropy(logits.reshape((-1, logits.shape[-1])), batch["labels"].reshape((-1,)))
