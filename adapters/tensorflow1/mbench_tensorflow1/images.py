"""What classifiers share: their model files hand it out as their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench_tensorflow1.layers import cross_entropy

if TYPE_CHECKING:
    import tensorflow as tf

    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "loss"]

DIFFERENCES = ("images are channels last (NHWC), TensorFlow's own layout",)


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    return cross_entropy(outputs["logits"], batch["labels"])
