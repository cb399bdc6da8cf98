"""Diffusion transformers in Keras; names as in facebookresearch/DiT.

Shapes: B batch, H W latent pixels, C channels, P side of a patch, L patches, D hidden.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import keras
import tensorflow as tf

from mbench_tensorflow.layers import CHANNELS_LAST, UNFUSED_ATTENTION, Convolution, dense

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mbench.workloads.dit import DiTConfig

__all__ = ["DIFFERENCES", "build", "forward", "layers", "loss"]

DIFFERENCES = (
    CHANNELS_LAST,
    UNFUSED_ATTENTION,
    "waves of timesteps come from a table in place of sines in each step",
)


class DiT(keras.Model):
    def __init__(self, config: DiTConfig) -> None:
        super().__init__(name="dit")
        size, hidden = config.patch_size, config.hidden
        self.config = config
        self.patches = Convolution(
            hidden, size, strides=size, padding=0, bias=True, name="x_embedder.proj"
        )
        self.time_inner = dense(hidden, "t_embedder.mlp.0")
        self.time_outer = dense(hidden, "t_embedder.mlp.2")
        self.labels = keras.layers.Embedding(
            config.classes + 1, hidden, "zeros", name="y_embedder.embedding_table"
        )
        self.blocks = [Block(config, name=f"blocks.{layer}") for layer in range(config.layers)]
        self.final = FinalLayer(config, name="final_layer")

    def call(self, latents: tf.Tensor, timesteps: tf.Tensor, classes: tf.Tensor) -> tf.Tensor:
        """(B, H, W, C), (B), (B) -> (B, H, W, 2 C)."""
        config = self.config
        x = self.patches(latents)  # (B, H/P, W/P, D)
        size, side, patch = x.shape[0], config.side, config.patch_size
        positions = tf.constant(config.positions(), x.dtype)
        x = tf.reshape(x, (size, -1, config.hidden)) + positions  # (B, L, D)
        table = tf.constant(config.timestep_waves(), x.dtype)
        time = self.time_outer(tf.nn.silu(self.time_inner(tf.gather(table, timesteps))))
        known = tf.nn.silu(time + tf.cast(self.labels(classes), x.dtype))  # (B, D)
        for block in self.blocks:
            x = block(x, known)
        x = tf.reshape(self.final(x, known), (size, side, side, patch, patch, -1))
        x = tf.transpose(x, (0, 1, 3, 2, 4, 5))
        return tf.reshape(x, (size, side * patch, side * patch, -1))


class Block(keras.layers.Layer):
    """Attention and an MLP, each with a modulated norm before it and a gate after."""

    def __init__(self, config: DiTConfig, *, name: str) -> None:
        super().__init__(name=name)
        hidden = config.hidden
        self.norm1 = plain_norm(config, "norm1")
        self.attention = SelfAttention(config, name="attn")
        self.norm2 = plain_norm(config, "norm2")
        self.inner = dense(4 * hidden, "mlp.fc1")
        self.outer = dense(hidden, "mlp.fc2")
        self.modulation = dense(6 * hidden, "adaLN_modulation.1")

    def call(self, x: tf.Tensor, known: tf.Tensor) -> tf.Tensor:
        """(B, L, D), (B, D) -> (B, L, D)."""
        shift, scale, gate, *others = tf.split(self.modulation(known)[:, None], 6, axis=-1)
        x += gate * self.attention(modulated(self.norm1(x), shift, scale))
        shift, scale, gate = others
        y = tanh_gelu(self.inner(modulated(self.norm2(x), shift, scale)))
        return x + gate * self.outer(y)


class SelfAttention(keras.layers.Layer):
    """Every patch attends to all patches."""

    def __init__(self, config: DiTConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.heads = config.heads
        self.mixed = dense(3 * config.hidden, "qkv")
        self.proj = dense(config.hidden, "proj")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        """(B, L, D) -> (B, L, D)."""
        parts = tf.reshape(self.mixed(x), (*x.shape[:2], 3, self.heads, -1))
        query, key, value = tf.unstack(tf.transpose(parts, (2, 0, 3, 1, 4)))  # (B, heads, L, W)
        scores = tf.matmul(query / math.sqrt(query.shape[-1]), key, transpose_b=True)
        attended = tf.matmul(tf.nn.softmax(scores), value)
        return self.proj(tf.reshape(tf.transpose(attended, (0, 2, 1, 3)), x.shape))


class FinalLayer(keras.layers.Layer):
    def __init__(self, config: DiTConfig, *, name: str) -> None:
        super().__init__(name=name)
        self.norm = plain_norm(config, "norm_final")
        self.linear = dense(config.patch_outputs, "linear")
        self.modulation = dense(2 * config.hidden, "adaLN_modulation.1")

    def call(self, x: tf.Tensor, known: tf.Tensor) -> tf.Tensor:
        """(B, L, D), (B, D) -> (B, L, P P 2 C)."""
        shift, scale = tf.split(self.modulation(known)[:, None], 2, axis=-1)
        return self.linear(modulated(self.norm(x), shift, scale))


def plain_norm(config: DiTConfig, name: str) -> keras.layers.LayerNormalization:
    return keras.layers.LayerNormalization(
        epsilon=config.epsilon, center=False, scale=False, name=name
    )


def modulated(x: tf.Tensor, shift: tf.Tensor, scale: tf.Tensor) -> tf.Tensor:
    return x * (1 + scale) + shift


def tanh_gelu(x: tf.Tensor) -> tf.Tensor:
    """The approximation by tanh. tf.nn.gelu's constants are float32 even in float64."""
    return 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


build = DiT


def layers(model: DiT) -> Iterable[keras.layers.Layer]:
    return model.blocks


def forward(model: DiT, batch: Mapping[str, tf.Tensor], *, training: bool) -> dict[str, tf.Tensor]:
    """latents (B, H, W, C), timesteps (B), classes (B) -> denoised (B, H, W, 2 C)."""
    given = (batch[name] for name in ("latents", "timesteps", "classes"))
    return {"denoised": model(*given, training=training)}


def loss(outputs: Mapping[str, tf.Tensor], batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
    """See mbench.workloads.dit."""
    noise, variance = tf.split(outputs["denoised"], 2, axis=-1)
    gaps, weights, wanted = (
        tf.cast(batch[name], noise.dtype) for name in ("gaps", "weights", "noise")
    )
    gaps, weights = (tf.reshape(one, (-1, 1, 1, 1)) for one in (gaps, weights))
    error = tf.square(noise - wanted)
    shares = gaps * (variance + 1) / 2
    bound = shares + tf.exp(-shares) * (1 + weights * tf.stop_gradient(error)) - 1
    return tf.reduce_mean(error + bound / math.log(4))
