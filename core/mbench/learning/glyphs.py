"""Draws the examples of the task `glyphs`: pen strokes of ten kinds, each determined by its seed.

It uses only additions, products, quotients and square roots, which every machine rounds alike, so
the pixels are the same everywhere.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract import generator

if TYPE_CHECKING:
    from collections.abc import Sequence

    Strokes = Sequence[Sequence[tuple[float, float]]]

__all__ = ["GLYPHS", "draw"]

GLYPHS: Sequence[Strokes] = (
    [[(0.5, 0.1), (0.2, 0.3), (0.2, 0.7), (0.5, 0.9), (0.8, 0.7), (0.8, 0.3), (0.5, 0.1)]],
    [[(0.3, 0.3), (0.5, 0.1), (0.5, 0.9)], [(0.3, 0.9), (0.7, 0.9)]],
    [[(0.2, 0.3), (0.5, 0.1), (0.8, 0.3), (0.2, 0.9), (0.8, 0.9)]],
    [[(0.2, 0.1), (0.8, 0.1), (0.4, 0.45), (0.8, 0.7), (0.5, 0.9), (0.2, 0.8)]],
    [[(0.6, 0.9), (0.6, 0.1), (0.2, 0.65), (0.8, 0.65)]],
    [[(0.8, 0.1), (0.25, 0.1), (0.25, 0.45), (0.7, 0.45), (0.8, 0.7), (0.5, 0.9), (0.2, 0.8)]],
    [[(0.7, 0.1), (0.3, 0.4), (0.2, 0.7), (0.5, 0.9), (0.8, 0.7), (0.5, 0.5), (0.25, 0.65)]],
    [[(0.2, 0.1), (0.8, 0.1), (0.4, 0.9)]],
    [[(0.5, 0.5), (0.25, 0.3), (0.5, 0.1), (0.75, 0.3), (0.5, 0.5), (0.2, 0.7), (0.5, 0.9),
      (0.8, 0.7), (0.5, 0.5)]],
    [[(0.75, 0.35), (0.5, 0.5), (0.2, 0.3), (0.5, 0.1), (0.75, 0.3), (0.6, 0.9)]],
)  # fmt: skip
"""Strokes as corners (x, y), from the upper left of a square of side 1."""
JITTER, TURN, STRETCH, SHEAR, MOVE = 0.07, 0.22, 0.2, 0.3, 0.08
"""The most by which corners stray, and the square turns (the tangent of half the angle), stretches,
shears and moves."""
PEN = (0.5, 1.1)
"""The smallest and the largest half-width of a stroke, in pixels."""
NOISE = 90
"""The most by which a pixel may be darker or brighter, of 255."""
CHUNK = 512


def draw(count: int, *, size: int, seed: int, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 (count, 1, size, size) and their kinds uint8 (count,)."""
    key = f"glyphs/{seed}/{part}"
    kinds = generator.integers(f"{key}/kinds", (count,), below=len(GLYPHS)).astype(np.uint8)
    images = np.empty((count, 1, size, size), np.uint8)
    for kind, strokes in enumerate(GLYPHS):
        here = np.flatnonzero(kinds == kind)
        for first in range(0, len(here), CHUNK):
            some = here[first : first + CHUNK]
            images[some, 0] = drawn(strokes, len(some), size=size, key=f"{key}/{kind}/{first}")
    return images, kinds


def drawn(strokes: Strokes, count: int, *, size: int, key: str) -> np.ndarray:
    """`count` images of these strokes, each distorted by numbers of its own."""

    def numbers(name: str, *shape: int) -> np.ndarray:
        return generator.uniform(f"{key}/{name}", (count, *shape)).astype(np.float64)

    half: np.ndarray = np.array([pair for stroke in strokes for pair in pairwise(stroke)])
    corners = sorted({tuple(point) for stroke in strokes for point in stroke})
    stray = numbers("jitter", len(corners), 2) * JITTER  # strokes that share a corner stay joined
    at = [[corners.index(tuple(point)) for point in pair] for pair in half]
    points = half[None] + stray[:, at] - 0.5  # (N, S, 2, 2)
    tangent = numbers("turn") * TURN
    cosine = (1 - tangent**2) / (1 + tangent**2)
    sine = 2 * tangent / (1 + tangent**2)
    wide, tall = 0.8 + numbers("wide") * STRETCH, 0.8 + numbers("tall") * STRETCH
    lean = numbers("shear") * SHEAR
    x = (points[..., 0] + points[..., 1] * lean[:, None, None]) * wide[:, None, None]
    y = points[..., 1] * tall[:, None, None]
    move = numbers("move", 2)[..., None, None] * MOVE + 0.5
    turned_x = cosine[:, None, None] * x - sine[:, None, None] * y + move[:, 0]
    turned_y = sine[:, None, None] * x + cosine[:, None, None] * y + move[:, 1]
    ends = np.stack([turned_x, turned_y], axis=-1) * size  # (N, S, 2, 2), in pixels
    pen = PEN[0] + (numbers("pen") + 1) / 2 * (PEN[1] - PEN[0])
    ink = 1 - distance(ends, size) + pen[:, None, None]
    grain = numbers("noise", size, size) * NOISE
    pixels = np.clip(ink, 0, 1) * 255 + grain
    found: np.ndarray = np.clip(np.rint(pixels), 0, 255).astype(np.uint8)
    return found


def distance(ends: np.ndarray, size: int) -> np.ndarray:
    """Distance from each pixel's centre to the nearest stroke: (N, S, 2, 2) -> (N, size, size)."""
    middle = np.arange(size) + 0.5
    nearest = np.full((len(ends), size, size), np.inf)
    for stroke in range(ends.shape[1]):
        start, way = ends[:, stroke, 0], ends[:, stroke, 1] - ends[:, stroke, 0]
        dx = middle[None, None, :] - start[:, 0, None, None]
        dy = middle[None, :, None] - start[:, 1, None, None]
        length = (way**2).sum(axis=1)[:, None, None]
        along = (dx * way[:, 0, None, None] + dy * way[:, 1, None, None]) / length
        along = np.clip(along, 0, 1)
        off = np.sqrt(
            (dx - along * way[:, 0, None, None]) ** 2 + (dy - along * way[:, 1, None, None]) ** 2
        )
        np.minimum(nearest, off, out=nearest)
    return nearest
