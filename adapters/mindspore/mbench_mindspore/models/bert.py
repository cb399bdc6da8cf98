"""BERT pre-training; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, H heads, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindspore import Parameter, nn, ops
from mindspore.common.initializer import initializer

from mbench_mindspore.layers import Dense, Dropout, Embedding, LayerNorm, attend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mindspore import Tensor

    from mbench.workloads.bert import BertConfig

__all__ = ["DIFFERENCES", "build", "forward", "gelu", "loss"]

DIFFERENCES = ("attention is two matrix products around a softmax, not one fused kernel",)


def gelu(x: Tensor) -> Tensor:
    """The exact GELU, by erf."""
    return ops.gelu(x, "none")


class BertForPreTraining(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = Bert(config)
        self.cls = Heads(config)

    def construct(self, input_ids: Tensor, types: Tensor, positions: Tensor) -> tuple[Any, ...]:
        """(B, L), (B, L), (B, P) -> (B, P, V), (B, 2)."""
        sequence, pooled = self.bert(input_ids, types)
        return self.cls(sequence, positions, self.bert.words(), pooled)


class Bert(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config)

    def construct(self, input_ids: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
        sequence = self.encoder(self.embeddings(input_ids, types))
        return sequence, self.pooler(sequence)

    def words(self) -> Tensor:
        """(V, D): the embedding, to which the head is tied."""
        return self.embeddings.word_embeddings.embedding_table


class Embeddings(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = Embedding(config.vocabulary, config.hidden)
        self.position_embeddings = Embedding(config.positions, config.hidden)
        self.token_type_embeddings = Embedding(config.token_types, config.hidden)
        self.LayerNorm = LayerNorm(config.hidden, epsilon=config.epsilon)
        self.dropout = Dropout(config.dropout)

    def construct(self, input_ids: Tensor, types: Tensor) -> Tensor:
        """(B, L), (B, L) -> (B, L, D)."""
        places = self.position_embeddings.embedding_table[: input_ids.shape[1]]  # (L, D)
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(types) + places
        return self.dropout(self.LayerNorm(x))


class Encoder(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.layer = nn.SequentialCell([Layer(config) for _ in range(config.layers)])

    def construct(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Layer(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Inner(config)
        self.output = Summed(config, config.intermediate)

    def construct(self, x: Tensor) -> Tensor:
        x = self.attention(x)
        return self.output(self.intermediate(x), x)


class Attention(nn.Cell):
    """Its parts are named as in the canonical names of parameters."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        # "self" is the part's canonical name, which `construct` cannot use for a part.
        self.insert_child_to_cell("self", SelfAttention(config))
        self.attends = self._cells["self"]
        self.output = Summed(config, config.hidden)

    def construct(self, x: Tensor) -> Tensor:
        return self.output(self.attends(x), x)


class SelfAttention(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.query = Dense(config.hidden, config.hidden)
        self.key = Dense(config.hidden, config.hidden)
        self.value = Dense(config.hidden, config.hidden)
        self.dropout = Dropout(config.dropout)
        self.heads = config.heads

    def construct(self, x: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D)."""
        split = (x.shape[0], x.shape[1], self.heads, x.shape[2] // self.heads)
        query = self.query(x).reshape(split).swapaxes(1, 2)  # (B, H, L, D/H)
        key = self.key(x).reshape(split).swapaxes(1, 2)
        value = self.value(x).reshape(split).swapaxes(1, 2)
        return attend(query, key, value, self.dropout).swapaxes(1, 2).reshape(x.shape)


class Inner(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = Dense(config.hidden, config.intermediate)

    def construct(self, x: Tensor) -> Tensor:
        return gelu(self.dense(x))


class Summed(nn.Cell):
    """A linear layer and dropout on `y`, the sum with `x`, and layer norm."""

    def __init__(self, config: BertConfig, inputs: int) -> None:
        super().__init__()
        self.dense = Dense(inputs, config.hidden)
        self.LayerNorm = LayerNorm(config.hidden, epsilon=config.epsilon)
        self.dropout = Dropout(config.dropout)

    def construct(self, y: Tensor, x: Tensor) -> Tensor:
        return self.LayerNorm(x + self.dropout(self.dense(y)))


class Pooler(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = Dense(config.hidden, config.hidden)

    def construct(self, sequence: Tensor) -> Tensor:
        """(B, L, D) -> (B, D)."""
        return ops.tanh(self.dense(sequence[:, 0]))


class Heads(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.predictions = Predictions(config)
        self.seq_relationship = Dense(config.hidden, 2)

    def construct(
        self, sequence: Tensor, positions: Tensor, words: Tensor, pooled: Tensor
    ) -> tuple[Any, ...]:
        masked = self.predictions(gathered(sequence, positions), words)
        return masked, self.seq_relationship(pooled)


class Predictions(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.transform = Transform(config)
        self.bias = Parameter(initializer("zeros", [config.vocabulary]), name="bias")

    def construct(self, x: Tensor, words: Tensor) -> Tensor:
        """(B, P, D) and the word embedding (V, D) -> (B, P, V)."""
        batch, count, hidden = x.shape
        rows = self.transform(x).reshape((batch * count, hidden))
        return (ops.matmul(rows, words.swapaxes(0, 1)) + self.bias).reshape((batch, count, -1))


class Transform(nn.Cell):
    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = Dense(config.hidden, config.hidden)
        self.LayerNorm = LayerNorm(config.hidden, epsilon=config.epsilon)

    def construct(self, x: Tensor) -> Tensor:
        return self.LayerNorm(gelu(self.dense(x)))


def gathered(sequence: Tensor, positions: Tensor) -> Tensor:
    """(B, L, D) at (B, P) -> (B, P, D), as rows of one table, by a single gather."""
    batch, length, hidden = sequence.shape
    rows = positions + ops.arange(batch).astype(positions.dtype).reshape((batch, 1)) * length
    found = ops.gather(sequence.reshape((batch * length, hidden)), rows.reshape((-1,)), 0)
    return found.reshape((batch, -1, hidden))


def build(config: BertConfig) -> nn.Cell:
    return BertForPreTraining(config)


def forward(model: nn.Cell, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    masked, following = model(
        batch["input_ids"], batch["token_type_ids"], batch["masked_positions"]
    )
    return {"mlm_logits": masked, "nsp_logits": following}  # (B, P, V), (B, 2)


def loss(outputs: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
    logits = outputs["mlm_logits"]
    masked = ops.cross_entropy(
        logits.reshape((-1, logits.shape[-1])), batch["masked_labels"].reshape((-1,))
    )
    return masked + ops.cross_entropy(outputs["nsp_logits"], batch["next_sentence_labels"])
