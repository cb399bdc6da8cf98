"""GPT-2 as a causal language model."""

from __future__ import annotations

from mbench.sdk.networks.gpt2 import forward
from mbench_jax.images import build, loss
from mbench_jax.layers import UNFUSED_ATTENTION

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

DIFFERENCES = (UNFUSED_ATTENTION,)
