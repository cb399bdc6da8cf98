"""What classifiers share: their model files hand it out as their own."""

from __future__ import annotations

from mbench_jax.layers import Array, Tensors, cross_entropy

__all__ = ["DIFFERENCES", "loss"]

DIFFERENCES = ("images are channels last (NHWC), as in Flax",)


def loss(outputs: Tensors, batch: Tensors) -> Array:
    return cross_entropy(outputs["logits"], batch["labels"])
