"""What classifiers share: their model files re-export these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench_tensorflow1.layers import Net, cross_entropy

if TYPE_CHECKING:
    from collections.abc import Callable

    import tensorflow as tf

    from mbench_tensorflow1.layers import Tensors

__all__ = ["DIFFERENCES", "build", "loss", "loss_of"]

build = Net
DIFFERENCES = ("images are channels last (NHWC), TensorFlow's own layout",)


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    return cross_entropy(outputs["logits"], batch["labels"])


def loss_of(weight: float) -> Callable[[Tensors, Tensors], tf.Tensor]:
    """The loss to which each auxiliary head adds its own, times `weight`."""

    def total(outputs: Tensors, batch: Tensors) -> tf.Tensor:
        first, *others = (
            cross_entropy(logits, batch["labels"])
            for name, logits in outputs.items()
            if name != "logits"
        )
        return loss(outputs, batch) + weight * sum(others, first)

    return total
