"""A small convolutional network."""

from __future__ import annotations

from mbench.sdk.networks.cnn import forward
from mbench_jax.images import DIFFERENCES, build, loss

__all__ = ["DIFFERENCES", "build", "forward", "loss"]
