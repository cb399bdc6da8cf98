"""GoogLeNet, with its auxiliary heads."""

from __future__ import annotations

from mbench.sdk.networks.googlenet import forward
from mbench.workloads.googlenet import AUXILIARY_WEIGHT
from mbench_jax.images import DIFFERENCES, build, with_auxiliary

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

loss = with_auxiliary(AUXILIARY_WEIGHT)
