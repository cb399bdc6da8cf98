"""How the time that is left is shared out among steps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from acceptance.step import Step

__all__ = ["GRACE", "Clock", "limit_of"]

GRACE = 10.0
"""Seconds that a process has to end after it was interrupted at its limit."""
LATER = 0.5


@dataclass
class Clock:
    """Counts down; `seconds` is None if there is no limit."""

    seconds: float | None
    now: Callable[[], float] = time.monotonic
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.now()

    def left(self) -> float | None:
        return None if self.seconds is None else self.seconds - (self.now() - self.begun)


def limit_of(ahead: Sequence[Step], left: float | None) -> float | None:
    """Seconds for the first of the steps `ahead`; None if too few are left for it.

    If time is short, limits shrink equally; what a step does not use goes to those after it. Steps
    of later phases are worth less, and only half of their limits is reserved.
    """
    step = ahead[0]
    if left is None:
        return step.seconds
    left -= GRACE
    wanted = sum(one.seconds * (1 if one.phase == step.phase else LATER) for one in ahead)
    share = min(1.0, left / wanted)
    limit = min(max(step.seconds * share, step.least), left)
    return None if limit < step.least else limit
