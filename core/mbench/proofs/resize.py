"""Crop, resize and mirror by definition, in float64: all pixels are compared with the result.

It uses half-pixel centres, and a triangle filter with a support of max(1, scale) input pixels on
each side, like Pillow's bilinear filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.feed import pixel_box

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["made", "weights"]


def weights(before: int, after: int, *, antialias: bool = True) -> np.ndarray:
    """(after, before), rows sum to 1: the share of each pixel in each resized pixel."""
    scale = before / after
    support = max(1.0, scale) if antialias else 1.0
    centres = (np.arange(after) + 0.5) * scale
    distance = np.abs(np.arange(before) + 0.5 - centres[:, None]) / support
    if not antialias:  # beyond the edge, the outermost pixel counts
        low = np.clip(np.floor(centres - 0.5), 0, before - 1).astype(int)
        high = np.minimum(low + 1, before - 1)
        share = np.clip(centres - 0.5 - low, 0, 1)
        found = np.zeros((after, before))
        rows = np.arange(after)
        np.add.at(found, (rows, low), 1 - share)
        np.add.at(found, (rows, high), share)
        return found
    found = np.maximum(0.0, 1.0 - distance)
    whole: np.ndarray = found / found.sum(axis=1, keepdims=True)
    return whole


def made(
    pixels: np.ndarray, box: Sequence[int], *, flip: bool, size: int, antialias: bool = True
) -> np.ndarray:
    """The image (S, S, 3) in 0 to 255, float64, from decoded pixels (H, W, 3)."""
    top, left, height, width = pixel_box(box, *pixels.shape[:2])
    cut = pixels[top : top + height, left : left + width].astype(np.float64)
    rows = weights(height, size, antialias=antialias)
    columns = weights(width, size, antialias=antialias)
    found: np.ndarray = np.einsum("ah,hwc,bw->abc", rows, cut, columns, optimize=True)
    return found[:, ::-1] if flip else found
