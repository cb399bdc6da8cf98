"""BERT pre-training; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, H heads, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import megengine as mge
import numpy as np
from megengine import functional as F
from megengine import module as M

from mbench_megengine.layers import Dropout, attend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from megengine import Tensor

    from mbench.workloads.bert import BertConfig

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


class BertForPreTraining(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = Bert(config)
        self.cls = Heads(config)

    def forward(self, input_ids: Tensor, types: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L), (B, L), (B, P) -> (B, P, V), (B, 2)."""
        sequence = self.bert(input_ids, types)
        words = self.bert.embeddings.word_embeddings.weight  # (V, D), to which the head is tied
        return self.cls(gathered(sequence, positions), words, self.bert.pooler(sequence))


class Bert(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config)

    def forward(self, input_ids: Tensor, types: Tensor) -> Tensor:
        """(B, L), (B, L) -> (B, L, D)."""
        return self.encoder(self.embeddings(input_ids, types))


class Embeddings(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = M.Embedding(config.vocabulary, config.hidden)
        self.position_embeddings = M.Embedding(config.positions, config.hidden)
        self.token_type_embeddings = M.Embedding(config.token_types, config.hidden)
        self.LayerNorm = M.LayerNorm(config.hidden, eps=config.epsilon)
        self.dropout = Dropout(config.dropout)
        self.length = config.sequence_length

    def forward(self, input_ids: Tensor, types: Tensor) -> Tensor:
        places = self.position_embeddings.weight[: self.length]  # (L, D)
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(types) + places
        return self.dropout(self.LayerNorm(x))


class Encoder(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.layer = M.Sequential(*(Layer(config) for _ in range(config.layers)))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Layer(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Inner(config)
        self.output = Summed(config, config.intermediate)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention(x)
        return self.output(self.intermediate(x), x)


class Attention(M.Module):
    """Its parts are named as in the canonical names of parameters."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.self = SelfAttention(config)
        self.output = Summed(config, config.hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.self(x), x)


class SelfAttention(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.query = M.Linear(config.hidden, config.hidden)
        self.key = M.Linear(config.hidden, config.hidden)
        self.value = M.Linear(config.hidden, config.hidden)
        self.dropout = Dropout(config.dropout)
        self.length, self.hidden, self.heads = config.sequence_length, config.hidden, config.heads

    def forward(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        width = self.hidden // self.heads
        parts = (self.query(x), self.key(x), self.value(x))
        query, key, value = (
            part.reshape(-1, self.length, self.heads, width).transpose(0, 2, 1, 3) for part in parts
        )  # (B, H, L, D/H)
        y = attend(query, key, value, self.dropout, width=width)
        return y.transpose(0, 2, 1, 3).reshape(-1, self.length, self.hidden)


class Inner(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = M.Linear(config.hidden, config.intermediate)

    def forward(self, x: Tensor) -> Tensor:
        return F.nn.gelu(self.dense(x))  # the exact GELU


class Summed(M.Module):
    """A linear layer and dropout on `y`, the sum with `x`, and layer norm."""

    def __init__(self, config: BertConfig, inputs: int) -> None:
        super().__init__()
        self.dense = M.Linear(inputs, config.hidden)
        self.LayerNorm = M.LayerNorm(config.hidden, eps=config.epsilon)
        self.dropout = Dropout(config.dropout)

    def forward(self, y: Tensor, x: Tensor) -> Tensor:
        return self.LayerNorm(x + self.dropout(self.dense(y)))


class Pooler(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = M.Linear(config.hidden, config.hidden)

    def forward(self, sequence: Tensor) -> Tensor:
        """(B, L, D) -> (B, D)."""
        return F.tanh(self.dense(sequence[:, 0]))


class Heads(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.predictions = Predictions(config)
        self.seq_relationship = M.Linear(config.hidden, 2)

    def forward(self, masked: Tensor, words: Tensor, pooled: Tensor) -> tuple[Tensor, Tensor]:
        """(B, P, D), (V, D), (B, D) -> (B, P, V), (B, 2)."""
        return self.predictions(masked, words), self.seq_relationship(pooled)


class Predictions(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.transform = Transform(config)
        self.bias = mge.Parameter(np.zeros(config.vocabulary, np.float32))

    def forward(self, x: Tensor, words: Tensor) -> Tensor:
        """(B, P, D) and the word embedding (V, D) -> (B, P, V)."""
        return F.matmul(self.transform(x), words, transpose_b=True) + self.bias


class Transform(M.Module):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = M.Linear(config.hidden, config.hidden)
        self.LayerNorm = M.LayerNorm(config.hidden, eps=config.epsilon)

    def forward(self, x: Tensor) -> Tensor:
        return self.LayerNorm(F.nn.gelu(self.dense(x)))


def gathered(sequence: Tensor, positions: Tensor) -> Tensor:
    """(B, L, D) at (B, P) -> (B, P, D)."""
    samples = F.arange(sequence.shape[0], dtype="int32").reshape(-1, 1)
    return sequence[F.broadcast_to(samples, positions.shape), positions]


def build(config: BertConfig) -> M.Module:
    return BertForPreTraining(config)


def forward(model: M.Module, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    masked, following = model(
        batch["input_ids"], batch["token_type_ids"], batch["masked_positions"]
    )
    return {"mlm_logits": masked, "nsp_logits": following}  # (B, P, V), (B, 2)


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    """The sum of two means: over all P words of the B samples, and over the samples."""
    masked = F.flatten(outputs["mlm_logits"], 0, 1)
    found = F.nn.cross_entropy(masked, batch["masked_labels"].flatten())
    return found + F.nn.cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
