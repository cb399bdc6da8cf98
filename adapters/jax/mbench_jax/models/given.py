"""A linear layer whose gradients are given. Shapes: B batch, N inputs, K outputs."""

from __future__ import annotations

from mbench_jax.layers import Array, Net, Tensors

__all__ = ["build", "forward", "loss"]

build = Net


def forward(net: Net, batch: Tensors) -> Tensors:
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": net.linear("linear", batch["inputs"], net.config.outputs)}


def loss(outputs: Tensors, batch: Tensors) -> Array:
    """The mean over samples of the dot products of outputs and directions, both (B, K)."""
    return (outputs["outputs"] * batch["directions"]).sum(axis=1).mean()
