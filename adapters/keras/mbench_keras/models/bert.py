"""BERT pre-training in Keras; names as in transformers' BertForPreTraining.

Shapes: B batch, L sequence, P predictions, D hidden, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
from keras import layers, ops

from mbench_keras.transformer import ATTENTION, Bias, Positions, attended, dense, gelu, normed

if TYPE_CHECKING:
    from mbench.workloads.bert import BertConfig

__all__ = ["DIFFERENCES", "LABELS", "build", "canonical"]

DIFFERENCES = (ATTENTION,)

LABELS = {"mlm_logits": "masked_labels", "nsp_logits": "next_sentence_labels"}


def build(config: BertConfig) -> keras.Model:
    """input_ids, token_type_ids (B, L), masked_positions (B, P) -> (B, P, V), (B, 2)."""
    lengths = {
        "input_ids": config.sequence_length,
        "token_type_ids": config.sequence_length,
        "masked_positions": config.predictions,
    }
    inputs = {
        name: keras.Input((length,), dtype="int32", name=name) for name, length in lengths.items()
    }
    words = layers.ReversibleEmbedding(
        config.vocabulary, config.hidden, embeddings_initializer="zeros",
        name="bert-embeddings-word_embeddings",
    )  # fmt: skip
    types = layers.Embedding(
        config.token_types, config.hidden, "zeros", name="bert-embeddings-token_type_embeddings"
    )
    x = words(inputs["input_ids"]) + types(inputs["token_type_ids"])
    x = Positions(config.positions, "bert-embeddings-position_embeddings")(x)
    x = layers.Dropout(config.dropout)(normed(config, x, "bert-embeddings-LayerNorm"))
    for number in range(config.layers):
        x = encoded(config, x, f"bert-encoder-layer-{number}")
    pooled = ops.tanh(dense(x[:, 0], config.hidden, "bert-pooler-dense"))
    masked = ops.take_along_axis(x, inputs["masked_positions"][..., None], axis=1)  # (B, P, D)
    masked = dense(masked, config.hidden, "cls-predictions-transform-dense")
    masked = normed(config, gelu(masked, approximate=False), "cls-predictions-transform-LayerNorm")
    outputs = {
        "mlm_logits": Bias(name="cls-predictions")(words(masked, reverse=True)),
        "nsp_logits": dense(pooled, 2, "cls-seq_relationship"),
    }
    return keras.Model(inputs, outputs)


def encoded(config: BertConfig, x: Any, at: str) -> Any:
    """(B, L, D) -> (B, L, D)."""
    found = attended(config, x, f"{at}-attention-self", causal=False)
    x = x + layers.Dropout(config.dropout)(found)
    x = normed(config, x, f"{at}-attention-output-LayerNorm")
    found = gelu(dense(x, config.intermediate, f"{at}-intermediate-dense"), approximate=False)
    found = dense(found, config.hidden, f"{at}-output-dense")
    return normed(config, x + layers.Dropout(config.dropout)(found), f"{at}-output-LayerNorm")


def canonical(name: str) -> str:
    return name.replace(".self.attention_output.", ".output.dense.")
