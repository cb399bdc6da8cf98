"""Vision transformers in Keras; names as in torchvision's.

Shapes: B batch, H W pixels, L positions, D hidden, K classes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.images import forward, loss
from mbench_tensorflow.layers import (
    CHANNELS_LAST,
    UNFUSED_ATTENTION,
    Convolution,
    dense,
    gelu,
    through,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.workloads.vit import ViTConfig

__all__ = ["DIFFERENCES", "build", "forward", "layers", "loss"]

DIFFERENCES = (CHANNELS_LAST, UNFUSED_ATTENTION)


class VisionTransformer(keras.Model):
    def __init__(self, config: ViTConfig) -> None:
        super().__init__(name="vit")
        size, hidden = config.patch_size, config.hidden
        self.conv_proj = Convolution(
            hidden, size, strides=size, padding=0, bias=True, name="conv_proj"
        )
        self.class_token = self.add_weight(
            shape=(1, 1, hidden), initializer="zeros", name="class_token"
        )
        self.encoder = Encoder(config, name="encoder")
        self.head = dense(config.classes, "heads.head")

    def call(self, images: tf.Tensor) -> tf.Tensor:
        """(B, H, W, 3) -> (B, K)."""
        x = self.conv_proj(images)  # (B, H/16, W/16, D)
        size, hidden = x.shape[0], x.shape[-1]
        x = tf.reshape(x, (size, -1, hidden))
        token = tf.broadcast_to(tf.cast(self.class_token, x.dtype), (size, 1, hidden))
        x = self.encoder(tf.concat((token, x), axis=1))  # (B, L, D)
        return self.head(x[:, 0])


class Encoder(keras.layers.Layer):
    def __init__(self, config: ViTConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.blocks = [
            Block(config, name=f"layers.encoder_layer_{layer}") for layer in range(config.layers)
        ]
        self.ln = normalization(config, "ln")

    def build(self, shape: tuple[int, ...]) -> None:
        """In its parent's scope, so that the variable's path is its canonical name."""
        self.pos_embedding = self.add_weight(
            shape=(1, *shape[1:]), initializer="zeros", name="pos_embedding"
        )
        super().build(shape)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        return self.ln(through(self.blocks, x + tf.cast(self.pos_embedding, x.dtype)))


class Block(keras.layers.Layer):
    """Attention and an MLP, each with a layer norm before it and a sum after."""

    def __init__(self, config: ViTConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.ln_1 = normalization(config, "ln_1")
        self.self_attention = SelfAttention(config, name="self_attention")
        self.ln_2 = normalization(config, "ln_2")
        self.inner = dense(config.intermediate, "mlp.0")
        self.outer = dense(config.hidden, "mlp.3")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x += self.self_attention(self.ln_1(x))
        return x + self.outer(gelu(self.inner(self.ln_2(x))))


class SelfAttention(keras.layers.Layer):
    """Every position attends to all positions."""

    def __init__(self, config: ViTConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.heads = config.heads
        self.out_proj = dense(config.hidden, "out_proj")

    def build(self, shape: tuple[int, ...]) -> None:
        mixed, hidden = 3 * shape[-1], shape[-1]
        self.weight = self.add_weight(
            shape=(mixed, hidden), initializer="zeros", name="in_proj_weight"
        )
        self.bias = self.add_weight(shape=(mixed,), initializer="zeros", name="in_proj_bias")
        super().build(shape)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        size, length, hidden = x.shape
        flat = tf.reshape(x, (-1, hidden))  # (B * L, D)
        parts = tf.matmul(flat, tf.cast(self.weight, x.dtype), transpose_b=True)
        parts += tf.cast(self.bias, x.dtype)
        parts = tf.reshape(parts, (size, length, 3, self.heads, hidden // self.heads))
        query, key, value = tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)))  # (B, heads, L, W)
        query *= 1 / math.sqrt(query.shape[-1])
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))  # (B, heads, L, L)
        attended = tf.transpose(tf.matmul(weights, value), (0, 2, 1, 3))
        return self.out_proj(tf.reshape(attended, x.shape))


def normalization(config: ViTConfig, name: str) -> keras.layers.LayerNormalization:
    return keras.layers.LayerNormalization(epsilon=config.epsilon, name=name)


build = VisionTransformer


def layers(model: VisionTransformer) -> Iterable[keras.layers.Layer]:
    return model.encoder.blocks
