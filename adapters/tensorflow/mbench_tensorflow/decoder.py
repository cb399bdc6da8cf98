"""Decoders in Keras that read prompts into a cache; names as in transformers.

Shapes: B batch, L sequence, D hidden, Q heads, H heads of keys and values, W width of a head,
T positions of a cache, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.layers import UNFUSED_ATTENTION, cross_entropy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mbench.workloads.llama import LlamaConfig

    Tensors = dict[str, tf.Tensor]
    Cache = Sequence[tuple[tf.Variable, tf.Variable]]

__all__ = ["DIFFERENCES", "Decoder", "advance", "forward", "loss", "prefill", "projection", "room"]

DIFFERENCES = (
    UNFUSED_ATTENTION,
    "rotations come from a table in place of sines in each step",
)


class Decoder(keras.Model):
    def __init__(
        self, config: LlamaConfig, *, mlp: Callable[..., keras.layers.Layer], name: str
    ) -> None:
        """`mlp` makes a layer's MLP from the configuration and a name."""
        super().__init__(name=name)
        self.config = config
        self.words = keras.layers.Embedding(
            config.vocabulary, config.hidden, "zeros", name="model.embed_tokens"
        )
        self.blocks = [
            Block(config, mlp(config, name="mlp"), name=f"model.layers.{n}")
            for n in range(config.layers)
        ]
        self.norm = normalization(config, "model.norm")
        self.head = None if config.tied else projection(config.vocabulary, "lm_head")

    def call(
        self,
        tokens: tf.Tensor,
        cache: Cache | None = None,
        position: tf.Tensor | None = None,
        kept: int = 0,
    ) -> tf.Tensor:
        """(B, L) -> (B, kept, V), of all positions if `kept` is 0. Keys and values are stored in
        the `cache`, if there is one; with a `position`, L is 1 and attention is to all that the
        cache holds.
        """
        x = self.words(tokens)
        turns = self.turns(x, tokens.shape[1], position)
        for number, block in enumerate(self.blocks):
            x = block(x, turns, cache and cache[number], position)
        x = self.norm(x)[:, -kept:]
        if self.head is not None:
            return self.head(x)
        flat = tf.reshape(x, (-1, x.shape[-1]))
        # Keras leaves embeddings out of mixed precision, since look-ups cost little.
        words = tf.cast(self.words.embeddings, flat.dtype)  # (V, D)
        return tf.reshape(tf.matmul(flat, words, transpose_b=True), (*x.shape[:2], -1))

    def turns(
        self, x: tf.Tensor, length: int, position: tf.Tensor | None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Cosines and sines (L, 1, W/2)."""
        tables = [tf.constant(table[:, None], x.dtype) for table in self.config.rotations()]
        if position is None:
            cosines, sines = (table[:length] for table in tables)
        else:
            cosines, sines = (tf.gather(table, position[None]) for table in tables)
        return cosines, sines


class Block(keras.layers.Layer):
    def __init__(self, config: LlamaConfig, mlp: keras.layers.Layer, *, name: str) -> None:
        super().__init__(name=name)
        self.input_layernorm = normalization(config, "input_layernorm")
        self.attention = Attention(config, name="self_attn")
        self.post_attention_layernorm = normalization(config, "post_attention_layernorm")
        self.mlp = mlp

    def call(
        self,
        x: tf.Tensor,
        turns: Sequence[tf.Tensor],
        cache: tuple[tf.Variable, tf.Variable] | None,
        position: tf.Tensor | None,
    ) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        x += self.attention(self.input_layernorm(x), turns, cache, position)
        return x + self.mlp(self.post_attention_layernorm(x))


class Attention(keras.layers.Layer):
    """Every token attends to itself and to those before it."""

    def __init__(self, config: LlamaConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.config = config
        shared = config.key_value_heads * config.width
        self.query = projection(config.hidden, "q_proj")
        self.key = projection(shared, "k_proj")
        self.value = projection(shared, "v_proj")
        self.out = projection(config.hidden, "o_proj")

    def call(
        self,
        x: tf.Tensor,
        turns: Sequence[tf.Tensor],
        cache: tuple[tf.Variable, tf.Variable] | None,
        position: tf.Tensor | None,
    ) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        query, key = (rotated(self.split(one(x)), turns) for one in (self.query, self.key))
        value = self.split(self.value(x))
        if cache is not None:
            key, value = kept(cache, (key, value), position)
        length, heads = x.shape[1], key.shape[2]
        query *= 1 / math.sqrt(query.shape[-1])
        # (B, H, G L, W): the heads of a group are rows of one product.
        query = tf.reshape(query, (*query.shape[:2], heads, -1, query.shape[-1]))
        query = tf.transpose(query, (0, 2, 3, 1, 4))
        groups = query.shape[2]
        query = tf.reshape(query, (query.shape[0], heads, groups * length, query.shape[-1]))
        key, value = (tf.transpose(one, (0, 2, 1, 3)) for one in (key, value))  # (B, H, T, W)
        scores = tf.matmul(query, key, transpose_b=True)
        scores = tf.reshape(scores, (-1, heads, groups, length, key.shape[2]))
        if position is None:
            seen = tf.linalg.band_part(tf.ones(scores.shape[-2:], tf.bool), -1, 0)  # (L, T)
        else:
            seen = tf.range(key.shape[2], dtype=position.dtype) <= position  # (T)
        weights = tf.nn.softmax(tf.where(seen, scores, scores.dtype.min))
        weights = tf.reshape(weights, (-1, heads, groups * length, key.shape[2]))
        attended = tf.reshape(
            tf.matmul(weights, value), (-1, heads, groups, length, value.shape[-1])
        )
        attended = tf.transpose(attended, (0, 3, 1, 2, 4))  # (B, L, H, G, W)
        return self.out(tf.reshape(attended, x.shape))

    def split(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, heads W) -> (B, L, heads, W)."""
        return tf.reshape(x, (*x.shape[:2], -1, self.config.width))


def rotated(x: tf.Tensor, turns: Sequence[tf.Tensor]) -> tf.Tensor:
    """(B, L, heads, W): channels i and i + W/2 are turned as a pair."""
    (one, other), (cosines, sines) = tf.split(x, 2, axis=-1), turns
    return tf.concat((one * cosines - other * sines, other * cosines + one * sines), axis=-1)


def kept(
    cache: tuple[tf.Variable, tf.Variable],
    new: tuple[tf.Tensor, tf.Tensor],
    position: tf.Tensor | None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Stores new keys and values (B, L, H, W) in the cache; returns those to attend to: a prompt's
    own, otherwise the whole cache. The cache is (T, B, H, W), so that a token's are rows of it.
    """
    for rows, one in zip(cache, new, strict=True):
        first = tf.zeros((), tf.int32) if position is None else position
        places = first + tf.range(one.shape[1])
        rows.scatter_update(tf.IndexedSlices(tf.transpose(one, (1, 0, 2, 3)), places))
    if position is None:
        return new
    keys, values = (tf.transpose(rows, (1, 0, 2, 3)) for rows in cache)
    return keys, values


def projection(units: int, name: str) -> keras.layers.Dense:
    return keras.layers.Dense(units, use_bias=False, kernel_initializer="zeros", name=name)


def normalization(config: LlamaConfig, name: str) -> keras.layers.RMSNormalization:
    return keras.layers.RMSNormalization(epsilon=config.epsilon, name=name)


def layers(model: Decoder) -> Iterable[keras.layers.Layer]:
    return model.blocks


def forward(model: Decoder, batch: Tensors, *, training: bool) -> Tensors:
    """input_ids (B, L) -> logits of the last positions (B, kept, V)."""
    kept = model.config.logits_to_keep
    return {"logits": model(batch["input_ids"], kept=kept, training=training)}


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    return cross_entropy(outputs["logits"], batch["labels"])


def room(model: Decoder, size: int, dtype: str) -> Cache:
    """An empty cache for `size` sequences: each layer's keys and values (T, B, H, W)."""
    config = model.config
    shape = (config.sequence_length, size, config.key_value_heads, config.width)
    return [
        (tf.Variable(tf.zeros(shape, dtype)), tf.Variable(tf.zeros(shape, dtype)))
        for _ in range(config.layers)
    ]


def prefill(model: Decoder, cache: Cache, tokens: tf.Tensor) -> tf.Tensor:
    """(B, L) -> the last position's logits (B, 1, V). Stores the prompts in the cache."""
    return model(tokens, cache=cache, kept=1, training=False)


def advance(model: Decoder, cache: Cache, token: tf.Tensor, position: tf.Tensor) -> tf.Tensor:
    """A token (B, 1) at its position () -> its logits (B, V). Stores it in the cache."""
    return model(token, cache=cache, position=position, training=False)[:, 0]
