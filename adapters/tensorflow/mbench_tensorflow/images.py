"""What image classifiers share: their model files re-export these.

Shapes: B batch, H W pixels, K classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench_tensorflow.layers import cross_entropy

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    Tensors = dict[str, tf.Tensor]

__all__ = ["forward", "loss"]


def forward(model: keras.Model, batch: Tensors, *, training: bool) -> Tensors:
    """images (B, H, W, 3) -> logits (B, K)."""
    return {"logits": model(batch["images"], training=training)}


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    return cross_entropy(outputs["logits"], batch["labels"])
