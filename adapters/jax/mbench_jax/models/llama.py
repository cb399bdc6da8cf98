"""Llama as a causal language model."""

from __future__ import annotations

from mbench.sdk.networks.llama import advance, forward, prefill
from mbench_jax.images import build, loss
from mbench_jax.layers import UNFUSED_ATTENTION

__all__ = ["DIFFERENCES", "advance", "build", "forward", "loss", "prefill"]

DIFFERENCES = (
    UNFUSED_ATTENTION,
    "rotations come from a table in place of sines in each step",
)
