"""Small sketches of tensors that show how far apart two tensors are without bringing them together.

A sketch of a tensor T is its norm and five signed sums: with signs r_i of -1 or 1, drawn from a
generator keyed by the tensor's name, p_j = sum of r_i T_i over i = j modulo 5. For two tensors
the expectation of sum (p_j - p'_j)^2 is |T - T'|^2, so two sketches bound the difference of
tensors that were never side by side (Charikar, Chen, Farach-Colton 2002, "Finding frequent items
in data streams").
"""

from __future__ import annotations

import math

import numpy as np

from mbench.contract import generator

__all__ = ["BUCKETS", "MOST_SEEN", "signs_of", "sketch", "thinned"]

BUCKETS = 5  # a prime, so that no stride of a layout falls into one bucket
BLOCK = BUCKETS * 2**16
"""Elements processed at a time, in reused memory: fresh pages cost more than the sums."""

MOST_SEEN = 2**16
"""How many numbers are looked at in each output after a block, and in each tensor if changes are
requested, spread over all of it. This bounds the cost of a look by the number of tensors."""


def signs_of(name: str, width: int) -> np.ndarray:
    """The vector of -1 and 1 by which a large output of that name is multiplied over its last axis.

    The expectation of |(C - C') r|^2 is |C - C'|^2. So it bounds how far a matrix product C is from
    the right one, at no more cost than reading it (Freivalds 1977, "Probabilistic machines can use
    less running time").
    """
    return generator.signs(f"along/{name}", width)


def sketch(name: str, array: np.ndarray, *, start: np.ndarray | None = None) -> list[float]:
    """[norm, p_0 .. p_4] of `array`, or of its change since `start`.

    Raises ValueError, which names the tensor, if it is not finite.
    """
    flat = np.ascontiguousarray(array).ravel()
    before = None if start is None else np.ascontiguousarray(start).ravel()
    signs = generator.signs(f"sketch/{name}", flat.size)
    room = np.empty(min(BLOCK, -(-flat.size // BUCKETS) * BUCKETS))
    squares, sums = 0.0, np.zeros(BUCKETS)
    for at in range(0, flat.size, BLOCK):
        here = slice(at, at + BLOCK)
        block = room[: len(signs[here])]
        np.subtract(flat[here], 0 if before is None else before[here], out=block, dtype=np.float64)
        squares += float(np.dot(block, block))
        block *= signs[here]
        rows = -(-block.size // BUCKETS)
        room[block.size : rows * BUCKETS] = 0
        sums += np.ones(rows) @ room[: rows * BUCKETS].reshape(rows, BUCKETS)
    norm = math.sqrt(squares)
    if not math.isfinite(norm):
        raise ValueError(f"{name} is not finite")
    return [norm, *(float(p) for p in sums)]


def thinned(array: np.ndarray) -> np.ndarray:
    """Every n-th number; n is odd, so that it does not match a layout's stride."""
    step = array.size // MOST_SEEN | 1
    if array.flags.c_contiguous or step == 1:
        return array.ravel()[::step]
    # Raveling a transposed array would copy all of it for the sake of a few numbers.
    found: np.ndarray = array[np.unravel_index(np.arange(0, array.size, step), array.shape)]
    return found
