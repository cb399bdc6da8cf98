"""paddle.nn's layers, made exact in float64 where their kernels hold constants in float32."""

from __future__ import annotations

import math

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

__all__ = ["BatchNorm2D", "held"]


class BatchNorm2D(nn.BatchNorm2D):
    """paddle.nn's own; in float64, the input is stretched to suit the epsilon that the kernel has.

    The kernel takes epsilon as float32, 2.5e-8 off, which a proof in float64 would see. With both
    statistics stretched alike (see statistics.py), the output is that of the true epsilon.
    """

    def __init__(self, channels: int, *, momentum: float, epsilon: float) -> None:
        super().__init__(channels, momentum=momentum, epsilon=epsilon)
        self.stretch = math.sqrt(held(epsilon) / epsilon)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        """(B, C, H, W) -> (B, C, H, W)."""
        if x.dtype == paddle.float64:
            # A tensor, for a static graph multiplies by plain numbers in float32.
            x = x * paddle.full([1], self.stretch, dtype="float64")
        return F.batch_norm(
            x,
            self._mean,
            self._variance,
            weight=self.weight,
            bias=self.bias,
            training=self.training,
            momentum=self._momentum,
            epsilon=self._epsilon,
        )


def held(constant: float) -> float:
    """What is left of a constant that a kernel takes as float32."""
    return float(np.float32(constant))
