"""Percentiles by nearest rank, where the sample supports them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PERCENTILES", "percentile", "steps_for"]

PERCENTILES = (50, 90, 95, 99, 99.9)


def percentile(values: Sequence[float], rank: float) -> float | None:
    """The nearest-rank percentile, or None where the sample is too small to support it.

    At least one value must lie beyond it: 1,000 are needed for 99.9, 10 for 90.
    """
    count = len(values)
    if not count or count * (1 - rank / 100) < 1 - 1e-9:
        return None
    return sorted(values)[math.ceil(count * rank / 100 - 1e-9) - 1]


def steps_for(rank: float) -> int:
    """The smallest sample that supports a percentile."""
    return math.ceil(100 / (100 - rank) - 1e-9)
