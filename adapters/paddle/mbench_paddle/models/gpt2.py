"""GPT-2 as a causal language model, with paddle.nn's scaled_dot_product_attention.

Shapes: B batch, L sequence, D hidden, H heads, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.layers import Projection, layer_norm
from mbench_paddle.tiers import ATTENTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mbench.workloads.gpt2 import GPT2Config

__all__ = ["DIFFERENCES", "build", "forward", "layers", "loss"]

DIFFERENCES = (ATTENTION,)


class GPT2LMHeadModel(nn.Layer):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.transformer = Transformer(config)

    def forward(self, input_ids: paddle.Tensor) -> paddle.Tensor:
        """(B, L) -> (B, L, V); the head is tied to the token embedding (V, D)."""
        words = self.transformer.wte.weight
        return paddle.matmul(self.transformer(input_ids), words, transpose_y=True)


class Transformer(nn.Layer):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.wte = nn.Embedding(config.vocabulary, config.hidden)
        self.wpe = nn.Embedding(config.positions, config.hidden)
        self.drop = nn.Dropout(config.dropout)
        self.h = nn.LayerList([Block(config) for _ in range(config.layers)])
        self.ln_f = layer_norm(config.hidden, epsilon=config.epsilon)

    def forward(self, input_ids: paddle.Tensor) -> paddle.Tensor:
        """(B, L) -> (B, L, D)."""
        positions = paddle.arange(input_ids.shape[1])
        x = self.drop(self.wte(input_ids) + self.wpe(positions))  # (B, L, D) + (L, D)
        for block in self.h:
            x = block(x)
        return self.ln_f(x)


class Block(nn.Layer):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.ln_1 = layer_norm(config.hidden, epsilon=config.epsilon)
        self.attn = Attention(config)
        self.ln_2 = layer_norm(config.hidden, epsilon=config.epsilon)
        self.mlp = MLP(config)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Attention(nn.Layer):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.c_attn = Projection(config.hidden, 3 * config.hidden)
        self.c_proj = Projection(config.hidden, config.hidden)
        self.resid_dropout = nn.Dropout(config.dropout)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        batch, length, hidden = x.shape
        mixed = self.c_attn(x).reshape([batch, length, 3, self.heads, hidden // self.heads])
        query, key, value = mixed.unbind(axis=2)  # each (B, L, H, D/H)
        x = F.scaled_dot_product_attention(
            query, key, value, dropout_p=self.dropout, is_causal=True, training=self.training
        )
        return self.resid_dropout(self.c_proj(x.reshape([batch, length, hidden])))


class MLP(nn.Layer):
    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.c_fc = Projection(config.hidden, 4 * config.hidden)
        self.c_proj = Projection(4 * config.hidden, config.hidden)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate=True)))


def build(config: GPT2Config) -> nn.Layer:
    return GPT2LMHeadModel(config)


def layers(model: GPT2LMHeadModel) -> Iterable[nn.Layer]:
    return model.transformer.h


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """input_ids (B, L) -> logits (B, L, V)."""
    return {"logits": model(batch["input_ids"])}


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    return F.cross_entropy(outputs["logits"].flatten(0, 1), batch["labels"].flatten())
