"""Runs a worker until its steps no longer get faster, and records why it stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Warmup", "is_steady", "warm_up"]

BLOCK_SECONDS = 0.1
LARGEST_GROWTH = 10
"""Largest factor from one block's number of steps to the next: a block that was short by chance
must not make the next one endless."""
TOLERANCE = 0.03
DRIFT_TOLERANCE = 0.005
DRIFT_POINTS = 12
DRIFT_QUANTILE = 0.84  # of the normal distribution: one-sided 20 %


@dataclass(frozen=True, kw_only=True)
class Warmup:
    """`blocks` are (steps, nanoseconds), the first step excluded; `reason` is why it ended."""

    first_step_nanoseconds: int
    blocks: list[tuple[int, int]]
    reason: str

    @property
    def steps(self) -> int:
        return 1 + sum(count for count, _ in self.blocks)

    @property
    def seconds(self) -> float:
        """The duration of the whole warm-up."""
        return (self.first_step_nanoseconds + sum(elapsed for _, elapsed in self.blocks)) / 1e9

    @property
    def step_seconds(self) -> float:
        """The step time at the end of the warm-up."""
        if not self.blocks:
            return self.first_step_nanoseconds / 1e9
        return median(per_step(self.blocks[-third(self.blocks) :])) / 1e9


def per_step(blocks: list[tuple[int, int]]) -> list[float]:
    """Nanoseconds per step of each block."""
    return [elapsed / count for count, elapsed in blocks]


def third(blocks: list[tuple[int, int]]) -> int:
    """A third of the number of blocks, at least two."""
    return max(2, len(blocks) // 3)


def is_steady(blocks: list[tuple[int, int]], *, shortest_seconds: float) -> bool:
    """Whether steps no longer get faster, neither suddenly nor gradually.

    Suddenly: the last third of the blocks against the third before. Gradually: a trend over the
    last half. Slower steps do not mean that a longer warm-up would help (the machine may be the
    cause), so only steps that are still getting faster prolong it.
    """
    size = third(blocks)
    last, before = per_step(blocks[-size:]), per_step(blocks[-2 * size : -size])
    if len(before) < 2:
        return False
    if sum(elapsed for _, elapsed in blocks) < shortest_seconds * 1e9:
        return False
    if median(last) < (1 - TOLERANCE) * median(before):
        return False
    return not gets_faster(per_step(blocks[-max(2, len(blocks) // 2) :]))


def gets_faster(durations: list[float]) -> bool:
    """Whether durations have a falling trend that is significant and relevant.

    The trend is tested with the Mann-Kendall test; its size is the Theil-Sen (median) slope times
    the length of the series. Both are robust to outliers and to the distribution of noise. Bursts
    of noise may pass for a trend, which only costs some more warm-up.
    """
    size = math.ceil(len(durations) / DRIFT_POINTS)
    means = [fmean(durations[i : i + size]) for i in range(0, len(durations), size)]
    count = len(means)
    slopes = [
        (means[later] - means[earlier]) / (later - earlier)
        for earlier in range(count)
        for later in range(earlier + 1, count)
    ]
    score = sum((slope < 0) - (slope > 0) for slope in slopes)
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    if score - 1 < DRIFT_QUANTILE * spread:
        return False
    return -median(slopes) * (count - 1) > DRIFT_TOLERANCE * median(means)


def warm_up(
    run: Callable[[int], int], *, shortest_seconds: float = 1.0, longest_seconds: float = 60.0
) -> Warmup:
    """Warm up with `run`, which runs the given number of steps and returns their nanoseconds."""
    first = run(1)
    blocks: list[tuple[int, int]] = []
    count = 1
    while not is_steady(blocks, shortest_seconds=shortest_seconds):
        if sum(elapsed for _, elapsed in blocks) >= longest_seconds * 1e9 and len(blocks) >= 2:
            reason = f"not steady after {longest_seconds:g} s"
            return Warmup(first_step_nanoseconds=first, blocks=blocks, reason=reason)
        elapsed = run(count)
        blocks.append((count, elapsed))
        growth = min(LARGEST_GROWTH, BLOCK_SECONDS * 1e9 / max(elapsed, 1))
        count = max(1, round(count * growth))
    return Warmup(first_step_nanoseconds=first, blocks=blocks, reason="steady")
