"""BERT pre-training in Keras; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, H heads, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.layers import UNFUSED_ATTENTION, dense, gelu

if TYPE_CHECKING:
    from mbench.workloads.bert import BertConfig

    Tensors = dict[str, tf.Tensor]

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (UNFUSED_ATTENTION,)


class BertForPreTraining(keras.Model):
    """Both heads; the masked language model's sees only the masked positions."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(name="pretraining")
        self.bert = Bert(config, name="bert")
        self.transform = dense(config.hidden, "cls.predictions.transform.dense")
        self.transform_norm = normalization(config, "cls.predictions.transform.LayerNorm")
        self.predictions_bias = self.add_weight(
            shape=(config.vocabulary,), initializer="zeros", name="cls.predictions.bias"
        )
        self.seq_relationship = dense(2, "cls.seq_relationship")

    def call(
        self,
        input_ids: tf.Tensor,
        token_type_ids: tf.Tensor,
        masked_positions: tf.Tensor,
        training: bool = False,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(B, L), (B, L), (B, P) -> (B, P, V), (B, 2)."""
        sequence, pooled = self.bert(input_ids, token_type_ids, training=training)
        masked = tf.gather(sequence, masked_positions, batch_dims=1)  # (B, P, D)
        masked = self.transform_norm(gelu(self.transform(masked)))
        flat = tf.reshape(masked, (-1, masked.shape[-1]))  # (B * P, D)
        # Tied. Keras leaves embeddings out of mixed precision, since look-ups cost little.
        words = tf.cast(self.bert.embeddings.word_embeddings.embeddings, flat.dtype)  # (V, D)
        logits = tf.matmul(flat, words, transpose_b=True) + self.predictions_bias
        logits = tf.reshape(logits, (*masked.shape[:2], -1))  # (B, P, V)
        return logits, self.seq_relationship(pooled)


class Bert(keras.layers.Layer):
    def __init__(self, config: BertConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.embeddings = Embeddings(config, name="embeddings")
        self.encoder = [
            EncoderLayer(config, name=f"encoder.layer.{layer}") for layer in range(config.layers)
        ]
        self.pooler = dense(config.hidden, "pooler.dense")

    def call(
        self, input_ids: tf.Tensor, token_type_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(B, L), (B, L) -> the encoded sequence (B, L, D), its pooled first token (B, D)."""
        x = self.embeddings(input_ids, token_type_ids, training=training)
        for layer in self.encoder:
            x = layer(x, training=training)
        return x, tf.tanh(self.pooler(x[:, 0]))


class Embeddings(keras.layers.Layer):
    def __init__(self, config: BertConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.word_embeddings = embedding(config, config.vocabulary, "word_embeddings")
        self.position_embeddings = embedding(config, config.positions, "position_embeddings")
        self.token_type_embeddings = embedding(config, config.token_types, "token_type_embeddings")
        self.LayerNorm = normalization(config, "LayerNorm")
        self.dropout = keras.layers.Dropout(config.dropout)

    def call(
        self, input_ids: tf.Tensor, token_type_ids: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x += self.position_embeddings(tf.range(input_ids.shape[1]))  # (B, L, D) + (L, D)
        return self.dropout(self.LayerNorm(x), training=training)


class EncoderLayer(keras.layers.Layer):
    def __init__(self, config: BertConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.attention = SelfAttention(config, name="attention.self")
        self.attention_output = Output(config, name="attention.output")
        self.intermediate = dense(config.intermediate, "intermediate.dense")
        self.layer_output = Output(config, name="output")

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        attended = self.attention(x, training=training)
        x = self.attention_output(attended, x, training=training)
        return self.layer_output(gelu(self.intermediate(x)), x, training=training)


class SelfAttention(keras.layers.Layer):
    def __init__(self, config: BertConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.heads = config.heads
        self.query = dense(config.hidden, "query")
        self.key = dense(config.hidden, "key")
        self.value = dense(config.hidden, "value")
        self.dropout = keras.layers.Dropout(config.dropout)

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        """(B, L, D) -> (B, L, D); every position attends to all: no sequence is padded."""
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        query *= 1 / math.sqrt(query.shape[-1])
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))  # (B, H, L, L)
        weights = self.dropout(weights, training=training)
        attended = tf.transpose(tf.matmul(weights, value), (0, 2, 1, 3))  # (B, L, H, D/H)
        return tf.reshape(attended, x.shape)

    def split(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, D) -> (B, H, L, D/H)."""
        x = tf.reshape(x, (*x.shape[:2], self.heads, x.shape[-1] // self.heads))
        return tf.transpose(x, (0, 2, 1, 3))


class Output(keras.layers.Layer):
    """The end of attention and of the MLP: projection, dropout, residual, layer norm."""

    def __init__(self, config: BertConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.dense = dense(config.hidden, "dense")
        self.dropout = keras.layers.Dropout(config.dropout)
        self.LayerNorm = normalization(config, "LayerNorm")

    def call(self, x: tf.Tensor, residual: tf.Tensor, training: bool = False) -> tf.Tensor:
        return self.LayerNorm(self.dropout(self.dense(x), training=training) + residual)


def embedding(config: BertConfig, rows: int, name: str) -> keras.layers.Embedding:
    return keras.layers.Embedding(rows, config.hidden, "zeros", name=name)


def normalization(config: BertConfig, name: str) -> keras.layers.LayerNormalization:
    return keras.layers.LayerNormalization(epsilon=config.epsilon, name=name)


build = BertForPreTraining


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> both heads' logits."""
    masked, pooled = model(
        batch["input_ids"], batch["token_type_ids"], batch["masked_positions"], training=training
    )
    return {"mlm_logits": masked, "nsp_logits": pooled}  # (B, P, V), (B, 2)


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
    masked = tf.reduce_mean(cross_entropy(batch["masked_labels"], outputs["mlm_logits"]))
    following = cross_entropy(batch["next_sentence_labels"], outputs["nsp_logits"])
    return masked + tf.reduce_mean(following)
