"""BERT pre-training in Gluon; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, H heads, V vocabulary.
"""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mxnet import gluon
from mxnet.gluon import nn

from mbench.sdk.settings import setting
from mbench_mxnet.attention import InterleavedAttention
from mbench_mxnet.layers import GELU, LayerNorm, cross_entropy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.workloads.bert import BertConfig

__all__ = ["build", "forward", "loss"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


class BertForPreTraining(gluon.HybridBlock):
    """Both heads; the masked language model's sees only the masked positions."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = Bert(config)
        self.cls = Heads(config, self.bert.embeddings.word_embeddings)

    def hybrid_forward(
        self, F: Any, input_ids: Any, token_type_ids: Any, masked_positions: Any
    ) -> tuple[Any, Any]:
        """(B, L), (B, L), (B, P) -> (B, P, V), (B, 2)."""
        sequence, pooled = self.bert(input_ids, token_type_ids)
        return self.cls(sequence, pooled, masked_positions)


class Bert(gluon.HybridBlock):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config)

    def hybrid_forward(self, F: Any, input_ids: Any, token_type_ids: Any) -> tuple[Any, Any]:
        """(B, L), (B, L) -> the encoded sequence (B, L, D), its pooled first token (B, D)."""
        sequence = self.encoder(self.embeddings(input_ids, token_type_ids))
        return sequence, self.pooler(sequence)


class Embeddings(gluon.HybridBlock):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocabulary, config.hidden)
        self.position_embeddings = nn.Embedding(config.positions, config.hidden)
        self.token_type_embeddings = nn.Embedding(config.token_types, config.hidden)
        self.LayerNorm = normalization(config)
        self.dropout = nn.Dropout(config.dropout)

    def hybrid_forward(self, F: Any, input_ids: Any, token_type_ids: Any) -> Any:
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        positions = F.contrib.arange_like(input_ids, axis=1)  # (L,)
        x = F.broadcast_add(x, self.position_embeddings(positions).expand_dims(0))
        return self.dropout(self.LayerNorm(x))


class Encoder(gluon.HybridBlock):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.layer = nn.HybridSequential()
        for _ in range(config.layers):
            self.layer.add(Layer(config))

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.layer(x)


class Layer(gluon.HybridBlock):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = Output(config, config.intermediate)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        x = self.attention(x)
        return self.output(self.intermediate(x), x)


class Attention(gluon.HybridBlock):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        fused = setting("attention") == "interleaved"
        self.self = (
            InterleavedAttention(config.hidden, config.heads, config.dropout)
            if fused
            else SelfAttention(config)
        )
        self.output = Output(config, config.hidden)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.self(x), x)


class SelfAttention(gluon.HybridBlock):
    """Every position attends to all: no sequence is padded."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self._heads = config.heads
        self._scale = 1 / math.sqrt(config.hidden // config.heads)
        self.query = dense(config.hidden, config.hidden)
        self.key = dense(config.hidden, config.hidden)
        self.value = dense(config.hidden, config.hidden)
        self.dropout = nn.Dropout(config.dropout)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """(B, L, D) -> (B, L, D)."""
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        scores = F.batch_dot(query * self._scale, key, transpose_b=True)  # (B * H, L, L)
        attended = F.batch_dot(self.dropout(F.softmax(scores)), value)  # (B * H, L, D/H)
        attended = attended.reshape((-4, -1, self._heads, -2))  # (B, H, L, D/H)
        return attended.transpose((0, 2, 1, 3)).reshape((0, 0, -3))

    def split(self, x: Any) -> Any:
        """(B, L, D) -> (B * H, L, D/H)."""
        x = x.reshape((0, 0, -4, self._heads, -1))
        return x.transpose((0, 2, 1, 3)).reshape((-3, -2))


class Intermediate(gluon.HybridBlock):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = dense(config.hidden, config.intermediate)
        self.gelu = GELU()

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.gelu(self.dense(x))


class Output(gluon.HybridBlock):
    """The end of attention and of the MLP: projection, dropout, residual, layer norm."""

    def __init__(self, config: BertConfig, inputs: int) -> None:
        super().__init__()
        self.dense = dense(inputs, config.hidden)
        self.LayerNorm = normalization(config)
        self.dropout = nn.Dropout(config.dropout)

    def hybrid_forward(self, F: Any, x: Any, residual: Any) -> Any:
        return self.LayerNorm(self.dropout(self.dense(x)) + residual)


class Pooler(gluon.HybridBlock):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = dense(config.hidden, config.hidden)

    def hybrid_forward(self, F: Any, sequence: Any) -> Any:
        """(B, L, D) -> (B, D)."""
        first = sequence.slice_axis(axis=1, begin=0, end=1).reshape((0, -1))
        return F.tanh(self.dense(first))


class Heads(gluon.HybridBlock):
    def __init__(self, config: BertConfig, words: nn.Embedding) -> None:
        super().__init__()
        self.predictions = Predictions(config, words)
        self.seq_relationship = dense(config.hidden, 2)

    def hybrid_forward(
        self, F: Any, sequence: Any, pooled: Any, masked_positions: Any
    ) -> tuple[Any, Any]:
        return self.predictions(sequence, masked_positions), self.seq_relationship(pooled)


class Predictions(gluon.HybridBlock):
    """The vocabulary head; its weight is the word embedding, its bias is its own."""

    def __init__(self, config: BertConfig, words: nn.Embedding) -> None:
        super().__init__()
        self._length = config.sequence_length
        self._vocabulary = config.vocabulary
        self.transform = Transform(config)
        self.weight = words.weight
        self.bias = self.params.get("bias", shape=(config.vocabulary,))

    def hybrid_forward(
        self, F: Any, sequence: Any, masked_positions: Any, weight: Any, bias: Any
    ) -> Any:
        """(B, L, D), (B, P) -> (B, P, V)."""
        rows = F.contrib.arange_like(masked_positions, axis=0) * self._length  # (B,)
        where = F.broadcast_add(masked_positions, rows.expand_dims(1))
        masked = F.take(sequence.reshape((-3, 0)), where)  # (B, P, D)
        return F.FullyConnected(
            self.transform(masked), weight, bias, num_hidden=self._vocabulary, flatten=False
        )


class Transform(gluon.HybridBlock):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = dense(config.hidden, config.hidden)
        self.gelu = GELU()
        self.LayerNorm = normalization(config)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.LayerNorm(self.gelu(self.dense(x)))


def dense(inputs: int, outputs: int) -> nn.Dense:
    return nn.Dense(outputs, in_units=inputs, flatten=False)


def normalization(config: BertConfig) -> LayerNorm:
    return LayerNorm(epsilon=config.epsilon, in_channels=config.hidden)


def build(config: BertConfig) -> gluon.HybridBlock:
    return BertForPreTraining(config)


def forward(model: gluon.HybridBlock, batch: Mapping[str, Any]) -> dict[str, Any]:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    masked, pooled = model(batch["input_ids"], batch["token_type_ids"], batch["masked_positions"])
    return {"mlm_logits": masked, "nsp_logits": pooled}  # (B, P, V), (B, 2)


def loss(outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
    masked = cross_entropy(outputs["mlm_logits"], batch["masked_labels"])
    return masked + cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
