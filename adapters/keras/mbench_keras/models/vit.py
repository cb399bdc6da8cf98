"""Vision transformers in Keras; names as in torchvision's VisionTransformer.

Shapes: B batch, H W pixels, P patches, L = P + 1 positions, D hidden, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
from keras import layers, ops

from mbench_keras.transformer import ATTENTION, attended, dense, gelu, normed

if TYPE_CHECKING:
    from mbench.workloads.vit import ViTConfig

__all__ = ["DIFFERENCES", "LABELS", "build", "canonical"]

DIFFERENCES = (ATTENTION, "images are channels last (NHWC), Keras' default")
LABELS = {"logits": "labels"}


class Tokens(layers.Layer):
    """Puts the class token in front of the patches, and adds the embeddings of positions."""

    def build(self, shape: tuple[int, ...]) -> None:
        patches, hidden = shape[1:]
        make = self.add_weight
        self.first = make(shape=(1, 1, hidden), initializer="zeros", name="class_token")
        self.embeddings = make(
            shape=(1, 1 + patches, hidden), initializer="zeros", name="pos_embedding"
        )

    def call(self, x: Any) -> Any:
        """(B, P, D) -> (B, L, D)."""
        first = ops.broadcast_to(self.first, (ops.shape(x)[0], 1, x.shape[2]))
        return ops.concatenate([first, x], axis=1) + self.embeddings


def build(config: ViTConfig) -> keras.Model:
    """images (B, H, W, 3) -> logits (B, K)."""
    images = keras.Input((config.image_size, config.image_size, 3), name="images")
    x = layers.Conv2D(
        config.hidden, config.patch_size, config.patch_size, kernel_initializer="zeros",
        name="conv_proj",
    )(images)  # fmt: skip
    x = layers.Reshape((config.side**2, config.hidden))(x)
    x = Tokens(name="encoder")(x)
    for number in range(config.layers):
        x = block(config, x, f"encoder-layers-encoder_layer_{number}")
    x = normed(config, x, "encoder-ln")
    logits = dense(x[:, 0], config.classes, "heads-head")
    return keras.Model({"images": images}, {"logits": logits})


def block(config: ViTConfig, x: Any, at: str) -> Any:
    """(B, L, D) -> (B, L, D)."""
    found = normed(config, x, f"{at}-ln_1")
    x = x + attended(config, found, f"{at}-self_attention", causal=False)
    found = dense(normed(config, x, f"{at}-ln_2"), config.intermediate, f"{at}-mlp-0")
    return x + dense(gelu(found, approximate=False), config.hidden, f"{at}-mlp-3")


def canonical(name: str) -> str:
    """Query, key and value are one canonical tensor."""
    for part in ("query", "key", "value"):
        name = name.replace(f".self_attention.{part}.", ".self_attention.in_proj_")
    name = name.replace(".attention_output.", ".out_proj.")
    return name.replace("encoder.class_token", "class_token")
