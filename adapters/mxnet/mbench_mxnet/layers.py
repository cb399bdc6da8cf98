"""Layers whose native kernels have constants in float32, made exact in float64."""

# ruff: noqa: N803 (Gluon hands its operators over as F)

from __future__ import annotations

import math
from typing import Any

import numpy as np
from mxnet.gluon import nn

__all__ = ["GELU", "BatchNorm"]

# erf's gradient kernel takes the root of pi in float32, in float64 too.
ERF_GRADIENT = math.sqrt(math.pi) / float(np.sqrt(np.float32(math.pi)))


class BatchNorm(nn.BatchNorm):
    """Over the second axis.

    The kernel's momentum is a float32. In float64 it is 0 instead: the running statistics are
    those of the last batch, from which `parameters.ExactStatistics` makes the average.
    """

    def __init__(self, *, momentum: float, epsilon: float, in_channels: int) -> None:
        super().__init__(momentum=momentum, epsilon=epsilon, in_channels=in_channels)
        self.momentum = momentum

    def cast(self, dtype: Any) -> None:
        super().cast(dtype)
        self._kwargs["momentum"] = 0.0 if np.dtype(dtype) == np.float64 else self.momentum


class GELU(nn.GELU):
    """The exact one, by MXNet's fused kernel; in float64 composed."""

    def __init__(self) -> None:
        super().__init__()
        self._exact = False

    def cast(self, dtype: Any) -> None:
        super().cast(dtype)
        self._exact = np.dtype(dtype) == np.float64

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        if not self._exact:
            return super().hybrid_forward(F, x)
        erf = F.erf(x * math.sqrt(0.5))
        # The same value, with a gradient that takes the kernel's error back.
        erf = erf / ERF_GRADIENT + F.BlockGrad(erf) * (1 - 1 / ERF_GRADIENT)
        return 0.5 * x * (1 + erf)
