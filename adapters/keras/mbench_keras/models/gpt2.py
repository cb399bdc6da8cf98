"""GPT-2 as a causal language model in Keras; names as in transformers' GPT2LMHeadModel.

Shapes: B batch, L sequence, D hidden, V vocabulary.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import keras
from keras import layers

from mbench_keras.transformer import ATTENTION, Positions, attended, dense, gelu, normed

if TYPE_CHECKING:
    from mbench.workloads.gpt2 import GPT2Config

__all__ = ["DIFFERENCES", "LABELS", "TRANSPOSED", "build", "canonical"]

DIFFERENCES = (ATTENTION,)

LABELS = {"logits": "labels"}
TRANSPOSED = False
"""GPT-2's kernels are (in, out) in transformers, too."""


def build(config: GPT2Config) -> keras.Model:
    """input_ids (B, L) -> logits (B, L, V)."""
    input_ids = keras.Input((config.sequence_length,), dtype="int32", name="input_ids")
    words = layers.ReversibleEmbedding(
        config.vocabulary, config.hidden, embeddings_initializer="zeros", name="transformer-wte"
    )
    x = Positions(config.positions, "transformer-wpe")(words(input_ids))
    x = layers.Dropout(config.dropout)(x)
    for number in range(config.layers):
        x = block(config, x, f"transformer-h-{number}")
    logits = words(normed(config, x, "transformer-ln_f"), reverse=True)
    return keras.Model({"input_ids": input_ids}, {"logits": logits})


def block(config: GPT2Config, x: Any, at: str) -> Any:
    """(B, L, D) -> (B, L, D)."""
    found = attended(config, normed(config, x, f"{at}-ln_1"), f"{at}-attn", causal=True)
    x = x + layers.Dropout(config.dropout)(found)
    found = dense(normed(config, x, f"{at}-ln_2"), 4 * config.hidden, f"{at}-mlp-c_fc")
    found = dense(gelu(found, approximate=True), config.hidden, f"{at}-mlp-c_proj")
    return x + layers.Dropout(config.dropout)(found)


def canonical(name: str) -> str:
    """Query, key and value are one canonical tensor."""
    name = re.sub(r"\.attn\.(query|key|value)\.", ".attn.c_attn.", name)
    return name.replace(".attn.attention_output.", ".attn.c_proj.")
