"""Inception v3, with its auxiliary head."""

from __future__ import annotations

from mbench.sdk.networks.inception import forward
from mbench.workloads.inception import AUXILIARY_WEIGHT
from mbench_jax.images import DIFFERENCES, build, loss_of

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

loss = loss_of(AUXILIARY_WEIGHT)
