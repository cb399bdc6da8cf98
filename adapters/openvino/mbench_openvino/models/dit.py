"""Diffusion transformers."""

from mbench.sdk.networks.dit import forward

__all__ = ["DIFFERENCES", "forward"]

DIFFERENCES = (
    "attention is two matrix products around a softmax, not one fused kernel",
    "waves of timesteps come from a table in place of sines in each step",
)
