"""Adaptive average pooling as a product of matrices, for frameworks without a layer for it."""

from __future__ import annotations

import numpy as np

__all__ = ["shares"]


def shares(pixels: int, count: int) -> np.ndarray:
    """(count, pixels): the weight of each pixel of a side in the mean of each region.

    Regions overlap if `count` does not divide the side. See PyTorch's AdaptiveAvgPool2d.
    """
    pixel, at = np.arange(pixels), np.arange(count)[:, None]
    within = (pixel >= at * pixels // count) & (pixel < -(-(at + 1) * pixels // count))
    found: np.ndarray = within / within.sum(1, keepdims=True)
    return found
