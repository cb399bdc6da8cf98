"""Sketches of tensors, small, and enough to tell how far two lie apart that never met.

A sketch of a tensor T is its norm and five signed sums: with signs r_i of -1 or 1, drawn from a
generator keyed by the tensor's name, p_j = sum of r_i T_i over i = j modulo 5. For two tensors
the expectation of sum (p_j - p'_j)^2 is |T - T'|^2, so two sketches bound the difference of
tensors that were never side by side (Charikar, Chen, Farach-Colton 2002, "Finding frequent items
in data streams").
"""

from __future__ import annotations

import math

import numpy as np

from mbench.workloads import generator

__all__ = ["BUCKETS", "sketch"]

BUCKETS = 5  # a prime, so that no stride of a layout falls into one bucket


def sketch(name: str, array: np.ndarray) -> list[float]:
    """[norm, p_0 .. p_4] of `array`; raises ValueError, naming it, where it is not finite."""
    flat = np.ascontiguousarray(array, dtype=np.float64).ravel()
    norm = math.sqrt(float(np.dot(flat, flat)))
    if not math.isfinite(norm):
        raise ValueError(f"{name} is not finite")
    signed = np.zeros(-(-flat.size // BUCKETS) * BUCKETS)
    np.multiply(flat, generator.signs(f"sketch/{name}", flat.size), out=signed[: flat.size])
    return [norm, *(float(p) for p in signed.reshape(-1, BUCKETS).sum(axis=0))]
