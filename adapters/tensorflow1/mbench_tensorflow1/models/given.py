"""A linear layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from mbench_tensorflow1.layers import Net

if TYPE_CHECKING:
    from mbench_tensorflow1.layers import Tensors

__all__ = ["build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": net.linear("linear", batch["inputs"], net.config.outputs)}


def loss(outputs: Tensors, batch: Tensors) -> tf.Tensor:
    """The mean over samples of the dot products of outputs and directions, both (B, K)."""
    return tf.reduce_mean(tf.reduce_sum(outputs["outputs"] * batch["directions"], axis=1))
