"""A linear layer whose gradients are given: with it proofs judge the optimizer alone."""

import numpy as np


def build(config, dtype):
    shape = (config.outputs, config.inputs)
    return {"linear.weight": np.zeros(shape, dtype), "linear.bias": np.zeros(shape[0], dtype)}


def forward(model, batch, training=False):
    """inputs (B, N) -> outputs (B, K)."""
    return {"outputs": batch["inputs"] @ model["linear.weight"].T + model["linear.bias"]}


def loss(outputs, batch):
    """directions (B, K)."""
    return (outputs["outputs"] * batch["directions"]).sum(axis=1).mean()
