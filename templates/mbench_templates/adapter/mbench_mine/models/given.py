"""A linear layer whose gradients are given: with it proofs judge the optimizer alone."""

import autograd.numpy as np

from mbench_mine.layers import linear


def build(config, dtype):
    shape = (config.outputs, config.inputs)
    return {"linear.weight": np.zeros(shape, dtype), "linear.bias": np.zeros(shape[0], dtype)}


def forward(model, batch, training=False):
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": linear(model, "linear", batch["inputs"])}
