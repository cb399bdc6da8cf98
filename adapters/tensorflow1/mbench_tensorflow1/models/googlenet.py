"""GoogLeNet, with its auxiliary heads."""

from __future__ import annotations

from mbench.sdk.networks.googlenet import forward
from mbench.workloads.googlenet import AUXILIARY_WEIGHT
from mbench_tensorflow1.images import DIFFERENCES, build, loss_of

__all__ = ["DIFFERENCES", "build", "forward", "loss"]

loss = loss_of(AUXILIARY_WEIGHT)
