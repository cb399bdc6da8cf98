"""What classifiers share: their model files re-export these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench_jax.layers import Array, Net, Tensors, cross_entropy

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DIFFERENCES", "build", "loss", "loss_of"]

build = Net
DIFFERENCES = ("images are channels last (NHWC), as in Flax",)


def loss(outputs: Tensors, batch: Tensors) -> Array:
    return cross_entropy(outputs["logits"], batch["labels"])


def loss_of(weight: float) -> Callable[[Tensors, Tensors], Array]:
    """The loss to which each auxiliary head adds its own, times `weight`."""

    def total(outputs: Tensors, batch: Tensors) -> Array:
        first, *others = (
            cross_entropy(logits, batch["labels"])
            for name, logits in outputs.items()
            if name != "logits"
        )
        return loss(outputs, batch) + weight * sum(others, first)

    return total
