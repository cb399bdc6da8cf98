"""ResNet, including wide and grouped ones."""

from __future__ import annotations

from mbench.sdk.networks.resnet import forward
from mbench_tensorflow1.images import DIFFERENCES, build, loss

__all__ = ["DIFFERENCES", "build", "forward", "loss"]
