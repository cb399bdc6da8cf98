"""How far sketches of what two processes have left lie apart, relative to what is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SMALLEST", "direction_gap", "distance", "norm_gap", "tensor_gaps", "together"]

SMALLEST = 1e-300
"""What is divided by, at least."""
LEAST_SHARE = 1e-3
"""Of the squares of all changes, that a tensor makes whose own change is looked at."""


def distance(sketch: Sequence[float], other: Sequence[float]) -> float:
    return float(np.linalg.norm(np.subtract(sketch[1:], other[1:])))


def together(sketches: Mapping[str, Sequence[float]]) -> float:
    return float(np.linalg.norm([sketch[0] for sketch in sketches.values()]))


def norm_gap(
    found: Mapping[str, Sequence[float]],
    reference: Mapping[str, Sequence[float]],
    *,
    times: float = 1.0,
) -> float:
    """Relative; nothing that has changed where something should is 1."""
    due = together(reference) * times
    return abs(together(found) - due) / due if due else float(together(found) > 0)


def tensor_gaps(
    found: Mapping[str, Sequence[float]],
    reference: Mapping[str, Sequence[float]],
    *,
    times: float,
) -> dict[str, float]:
    """Likewise of each tensor that makes a share of all changes."""
    least = LEAST_SHARE * together(reference) ** 2
    return {
        name: norm_gap({name: found.get(name, (0.0,))}, {name: sketch}, times=times)
        for name, sketch in reference.items()
        if sketch[0] ** 2 > least
    }


def direction_gap(
    found: Mapping[str, Sequence[float]], reference: Mapping[str, Sequence[float]]
) -> float:
    """The estimated norm of the difference of all changes, relative to them."""
    if set(found) != set(reference):
        return float("inf")
    gaps = [distance(found[name], reference[name]) for name in found]
    due = together(reference)
    return float(np.linalg.norm(gaps)) / due if due else float(any(gaps))
