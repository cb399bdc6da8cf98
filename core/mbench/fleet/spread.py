"""How far a node is from the others of its fleet, and from what distance that is not by chance.

All values are logarithms of goodness, so that a difference of -0.05 is 5 % slower.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from mbench.fleet.critical_values import GROUPS, HEAVY, NORMAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["FEWEST_NODES", "HEAVIEST", "KEPT", "Threshold", "best_split", "critical", "scale_of",
           "split_limit", "standings", "tail_of"]  # fmt: skip

FEWEST_NODES = 5
"""Fewest nodes that have a meaningful spread: of four, one in ten is 10 scales off by chance."""
KEPT = 0.75
"""Share of the distances from the median, the smallest ones, that determine the scale. Like the
median of all distances (MAD), it holds if a quarter of the nodes are slow, but it scatters less:
with 8 nodes, the critical value for 5 % is 3.6 instead of 6.4 (benchmarks/fleet.py)."""
CONSISTENT = 0.6215
"""Root mean square of the smallest three quarters of |z| of a normal distribution."""
EDGE = 24
"""Number of nodes at either end that are compared with the other nodes only. In a large fleet, one
node in the middle changes neither the median nor the scale."""
FEW = 64
"""With fewer values than this, a fleet does not show how heavy its tails are: the critical value is
that of Student's distribution with 3 degrees of freedom."""
TAIL = 2.85
"""A node on the slow side must be this many times as far off as the farthest on the fast side. With
a symmetric distribution that has the tails of Student's with 3 degrees of freedom, one fleet in 20
has such a node, however large it is (theory: 19 ** (1/3))."""
HEAVIEST = 1 / 3
"""Reciprocal of the index of the heaviest tail that a fleet is assumed to have: that of Student's
distribution with 3 degrees of freedom."""
FASTEST = 20
"""One in this many nodes, the fastest ones, show how heavy the tails are."""
FEWEST_FAST = 10
"""Fewest such nodes from which that can be estimated."""
SURE = 1.645
"""Standard errors that are added to that estimate."""


def scale_of(values: np.ndarray, center: float | np.ndarray) -> np.ndarray:
    """The scale of the last axis about `center`, as a standard deviation of normal values."""
    distances = np.abs(values - np.asarray(center)[..., None])
    kept = math.ceil(KEPT * values.shape[-1])
    nearest = np.partition(distances, kept - 1, axis=-1)[..., :kept]
    found: np.ndarray = np.sqrt(np.mean(nearest**2, axis=-1)) / CONSISTENT
    return found


def standings(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each value, the median of the others, and their scale."""
    count = len(values)
    order = np.argsort(values, kind="stable")
    edge = count if count <= 2 * EDGE else EDGE
    alone = order if edge == count else np.concatenate([order[:edge], order[-edge:]])
    center = np.median(values)
    centers = np.full(count, center)
    scales = np.full(count, float(scale_of(values, center)))
    others = np.array([np.delete(values, at) for at in alone])
    centers[alone] = np.median(others, axis=1)
    scales[alone] = scale_of(others, centers[alone])
    return centers, scales


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """How many scales a node must be below the others."""

    normal: float
    """From the number of nodes and metrics, for normal values."""
    tail: float
    """From the tails that this fleet has, or is assumed to have."""

    @property
    def value(self) -> float:
        return max(self.normal, self.tail)


def tail_of(fast: np.ndarray) -> float:
    """How heavy the tails of a metric are at most, as the reciprocal of their index: the upper end
    of Hill's estimate from its fastest nodes (Hill 1975), or HEAVIEST where these are too few.

    `fast`: how many scales each node on the fast side is off.
    """
    count = len(fast) // FASTEST
    if count < FEWEST_FAST:
        return HEAVIEST
    farthest = np.sort(fast)[-count - 1 :]
    if farthest[0] <= 0:
        return HEAVIEST
    found = float(np.mean(np.log(farthest[1:] / farthest[0])))
    return min(HEAVIEST, found * (1 + SURE / math.sqrt(count)))


def critical(
    nodes: int, metrics: int, alarms: float, *, farthest: float, tail: float = HEAVIEST
) -> Threshold:
    """The threshold beyond which at most a share `alarms` of healthy fleets has a slow node.

    `farthest`: how many scales the farthest on the fast side is off, over all metrics; `tail`: how
    heavy the heaviest tail of a metric is.
    """
    share = 1 - (1 - alarms) ** (1 / max(1, metrics))
    normal = looked_up(NORMAL, nodes, share)
    if nodes * metrics < FEW:
        return Threshold(normal=normal, tail=looked_up(HEAVY, nodes, share))
    return Threshold(normal=normal, tail=farthest * (TAIL**3 * 0.05 / alarms) ** tail)


def looked_up(
    table: Mapping[int, Sequence[tuple[float, float]]], nodes: int, share: float
) -> float:
    """A critical value interpolated in a table, by logarithms of nodes and shares.

    Beyond the largest fleet of the table, it grows as for normal values.
    """
    sizes = sorted(table)
    if nodes > sizes[-1]:
        grown = extreme(nodes, share) / extreme(sizes[-1], share)
        return looked_up(table, sizes[-1], share) * grown
    above = next(size for size in sizes if size >= max(nodes, sizes[0]))
    below = max((size for size in sizes if size <= nodes), default=above)
    ends = [along(table[size], share) for size in (below, above)]
    if below == above:
        return ends[0]
    part = math.log(nodes / below) / math.log(above / below)
    return math.exp((1 - part) * math.log(ends[0]) + part * math.log(ends[1]))


def along(row: Sequence[tuple[float, float]], share: float) -> float:
    """Interpolate between two shares of a row, or extrapolate from the last two at either end."""
    shares = [math.log(one) for one, _ in row]
    values = [math.log(value) for _, value in row]
    wanted = math.log(share)
    at = next((at for at in range(1, len(row)) if shares[at] <= wanted), len(row) - 1)
    slope = (values[at] - values[at - 1]) / (shares[at] - shares[at - 1])
    return math.exp(values[at] + slope * (wanted - shares[at]))


def extreme(nodes: int, share: float) -> float:
    """The distance that the farthest of `nodes` normal values exceeds with probability `share`."""
    return -NormalDist().inv_cdf(-math.expm1(math.log1p(-share) / nodes))


def best_split(values: np.ndarray) -> tuple[int, float, float]:
    """The split of sorted values into two groups, each with more than a quarter of them, that are
    farthest apart: how many are below, the distance of the means, and that distance in standard
    deviations within the groups.
    """
    count = len(values)
    least = max(2, count // 4 + 1)
    sizes = np.arange(least, count - least + 1)
    if not len(sizes):
        return 0, 0.0, 0.0
    moved = values - values[0]
    sums, squares = np.cumsum(moved), np.cumsum(moved**2)
    low, high = sums[sizes - 1] / sizes, (sums[-1] - sums[sizes - 1]) / (count - sizes)
    within = squares[-1] - sizes * low**2 - (count - sizes) * high**2
    deviation = np.sqrt(np.maximum(within, 0) / (count - 2))
    apart = (high - low) / np.maximum(deviation, 1e-9)
    at = int(np.argmax(apart))
    return int(sizes[at]), float(high[at] - low[at]), float(apart[at])


def split_limit(nodes: int, metrics: int, alarms: float) -> float:
    """Deviations beyond which two groups are not by chance, for evenly spread values."""
    return looked_up(GROUPS, nodes, 1 - (1 - alarms) ** (1 / max(1, metrics)))
