"""Random crops of photographs, drawn with integers so that they are the same in every process.

Crops are drawn as for Inception (Szegedy et al. 2014, arXiv:1409.4842), and since then for ImageNet
in general.
"""

from __future__ import annotations

import numpy as np

from mbench.contract import generator
from mbench.contract.feed import SHARES

__all__ = ["crop_boxes"]

LEAST_AREA = 0.08
"""Smallest area of a random crop, as a share of the image."""
RATIOS = np.array([round((4 / 3) ** (at / 128 - 1) * 2**16) for at in range(257)])
"""Height over width of a crop, times 2**16, both as shares of the image: from 3/4 to 4/3, evenly
spaced on a logarithmic scale."""


def crop_boxes(key: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes (N, 4), int64, of random area, ratio and place (see `pixel_box`); flips (N,), bool."""
    least = int(LEAST_AREA * SHARES)
    area = least + generator.integers(f"{key}/area", (count,), below=SHARES - least + 1)
    ratio = RATIOS[generator.integers(f"{key}/ratio", (count,), below=len(RATIOS))]
    whole = area * SHARES  # of SHARES ** 2; square roots are rounded the same everywhere
    tall = np.sqrt(whole * ratio / 2**16).astype(np.int64).clip(1, SHARES)
    wide = np.sqrt(whole * 2**16 / ratio).astype(np.int64).clip(1, SHARES)
    place = generator.integers(f"{key}/place", (2, count), below=2**31)
    top, left = place[0] % (SHARES - tall + 1), place[1] % (SHARES - wide + 1)
    flips = generator.integers(f"{key}/flip", (count,), below=2) == 1
    return np.stack([top, left, tall, wide], axis=1), flips
