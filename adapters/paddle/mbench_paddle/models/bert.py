"""BERT pre-training: paddle.nn's TransformerEncoder, with the embeddings and heads around it.

Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import paddle
from paddle import nn
from paddle.nn import functional as F

from mbench_paddle.tiers import UNFUSED_ATTENTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mbench.workloads.bert import BertConfig

__all__ = ["DIFFERENCES", "build", "forward", "layers", "loss"]

DIFFERENCES = (UNFUSED_ATTENTION,)


class BertForPreTraining(nn.Layer):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = Bert(config)
        self.cls = Heads(config)

    def forward(
        self,
        input_ids: paddle.Tensor,
        token_type_ids: paddle.Tensor,
        masked_positions: paddle.Tensor,
    ) -> tuple[paddle.Tensor, paddle.Tensor]:
        """(B, L), (B, L), (B, P) -> (B, P, V), (B, 2)."""
        sequence, pooled = self.bert(input_ids, token_type_ids)
        words = self.bert.embeddings.word_embeddings.weight
        masked_logits = self.cls.predictions(gathered(sequence, masked_positions), words)
        return masked_logits, self.cls.seq_relationship(pooled)


class Bert(nn.Layer):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        layer = nn.TransformerEncoderLayer(
            config.hidden,
            config.heads,
            config.intermediate,
            dropout=config.dropout,  # of the outputs of attention and MLP
            activation="gelu",  # the exact one
            attn_dropout=config.dropout,  # of the attention's probabilities
            act_dropout=0.0,  # none inside the MLP, as in the original
            normalize_before=False,
            layer_norm_eps=config.epsilon,
        )
        self.encoder = nn.TransformerEncoder(layer, config.layers)
        self.pooler = Pooler(config)

    def forward(
        self, input_ids: paddle.Tensor, token_type_ids: paddle.Tensor
    ) -> tuple[paddle.Tensor, paddle.Tensor]:
        """(B, L), (B, L) -> the encoded sequence (B, L, D), its pooled first token (B, D)."""
        sequence = self.encoder(self.embeddings(input_ids, token_type_ids))
        return sequence, self.pooler(sequence)


class Embeddings(nn.Layer):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocabulary, config.hidden)
        self.position_embeddings = nn.Embedding(config.positions, config.hidden)
        self.token_type_embeddings = nn.Embedding(config.token_types, config.hidden)
        self.LayerNorm = nn.LayerNorm(config.hidden, config.epsilon)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, input_ids: paddle.Tensor, token_type_ids: paddle.Tensor) -> paddle.Tensor:
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings(paddle.arange(input_ids.shape[1]))  # + (L, D)
        return self.dropout(self.LayerNorm(x))


class Pooler(nn.Layer):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden, config.hidden)

    def forward(self, sequence: paddle.Tensor) -> paddle.Tensor:
        """(B, L, D) -> (B, D)."""
        return paddle.tanh(self.dense(sequence[:, 0]))


class Heads(nn.Layer):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.predictions = Predictions(config)
        self.seq_relationship = nn.Linear(config.hidden, 2)


class Predictions(nn.Layer):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.transform = Transform(config)
        self.bias = self.create_parameter([config.vocabulary], is_bias=True)

    def forward(self, x: paddle.Tensor, words: paddle.Tensor) -> paddle.Tensor:
        """(B, P, D) and the word embedding (V, D), to which the head is tied -> (B, P, V)."""
        return paddle.matmul(self.transform(x), words, transpose_y=True) + self.bias


class Transform(nn.Layer):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden, config.hidden)
        self.LayerNorm = nn.LayerNorm(config.hidden, config.epsilon)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.LayerNorm(F.gelu(self.dense(x)))


def gathered(sequence: paddle.Tensor, positions: paddle.Tensor) -> paddle.Tensor:
    """(B, L, D) at (B, P) -> (B, P, D), as rows of one table: that is a single fast gather."""
    batch, length, hidden = sequence.shape
    rows = positions + paddle.arange(batch, dtype=positions.dtype).unsqueeze(1) * length
    found = paddle.gather(sequence.reshape([-1, hidden]), rows.flatten())
    return found.reshape([batch, -1, hidden])


def build(config: BertConfig) -> nn.Layer:
    return BertForPreTraining(config)


def layers(model: BertForPreTraining) -> Iterable[nn.Layer]:
    return model.bert.encoder.layers


def forward(model: nn.Layer, batch: Mapping[str, paddle.Tensor]) -> dict[str, paddle.Tensor]:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    masked_logits, next_logits = model(
        batch["input_ids"], batch["token_type_ids"], batch["masked_positions"]
    )
    return {"mlm_logits": masked_logits, "nsp_logits": next_logits}  # (B, P, V), (B, 2)


def loss(outputs: Mapping[str, paddle.Tensor], batch: Mapping[str, paddle.Tensor]) -> paddle.Tensor:
    masked = F.cross_entropy(outputs["mlm_logits"].flatten(0, 1), batch["masked_labels"].flatten())
    return masked + F.cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
