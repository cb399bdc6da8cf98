"""Runs a worker until its steps no longer get faster, and says why it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Warmup", "is_steady", "warm_up"]

LONGEST_SECONDS = 60.0
BLOCK_SECONDS = 0.1
TOLERANCE = 0.03


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
    def step_seconds(self) -> float:
        """The step time at the end of the warm-up."""
        return median(per_step(self.blocks[-third(self.blocks) :])) / 1e9


def per_step(blocks: list[tuple[int, int]]) -> list[float]:
    """Nanoseconds per step of each block."""
    return [elapsed / count for count, elapsed in blocks]


def third(blocks: list[tuple[int, int]]) -> int:
    """How many blocks a third of them is, two at least."""
    return max(2, len(blocks) // 3)


def is_steady(blocks: list[tuple[int, int]], *, shortest_seconds: float) -> bool:
    """Whether the last third of the blocks is no faster than the third before it.

    A step that got slower is no sign that warming up longer would help (it may be the machine's
    doing), so only steps that still get faster keep the warm-up going.
    """
    size = third(blocks)
    last, before = per_step(blocks[-size:]), per_step(blocks[-2 * size : -size])
    if len(before) < 2:
        return False
    enough = sum(elapsed for _, elapsed in blocks) >= shortest_seconds * 1e9
    return enough and median(last) >= (1 - TOLERANCE) * median(before)


def warm_up(run: Callable[[int], int], *, shortest_seconds: float = 1.0) -> Warmup:
    """Warm up by `run`, which does that many steps and returns the nanoseconds they took."""
    first = run(1)
    blocks: list[tuple[int, int]] = []
    count = 1
    while not is_steady(blocks, shortest_seconds=shortest_seconds):
        if sum(elapsed for _, elapsed in blocks) >= LONGEST_SECONDS * 1e9 and len(blocks) >= 2:
            reason = f"not steady after {LONGEST_SECONDS:g} s"
            return Warmup(first_step_nanoseconds=first, blocks=blocks, reason=reason)
        elapsed = run(count)
        blocks.append((count, elapsed))
        count = max(1, round(count * BLOCK_SECONDS * 1e9 / max(elapsed, 1)))
    return Warmup(first_step_nanoseconds=first, blocks=blocks, reason="steady")
