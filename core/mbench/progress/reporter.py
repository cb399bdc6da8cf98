"""What every way to show progress does alike: it follows the course, and tells what is decided."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from mbench.progress.event_log import EventLogger
from mbench.progress.state import ProgressState
from mbench.progress.ticker import Ticker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from mbench.results.events import Event

__all__ = ["ProgressReporter"]


class ProgressReporter(ABC):
    """Follows a run; events and decisions are said where it is `verbose`."""

    def __init__(
        self, *, verbose: bool, every_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.course = ProgressState(clock)
        self.telling = EventLogger(self.say) if verbose else None
        self.ticker = Ticker(self.tick, every_seconds=every_seconds)

    @abstractmethod
    def say(self, text: str) -> None:
        """A line that stays."""

    @abstractmethod
    def tick(self) -> None:
        """Is called now and then, but never while a block is timed."""

    def plan(self, seconds: Sequence[float | None]) -> None:
        self.course.planned = seconds

    def measuring(self, processes: int | None, budget_seconds: float | None) -> None:
        self.course.measuring(processes, budget_seconds)

    def timing(self) -> AbstractContextManager[None]:
        return self.ticker.holding()

    def event(self, event: Event) -> None:
        if self.telling:
            self.telling.event(event)

    def decided(self, text: str) -> None:
        if self.telling:
            self.say(text)

    def close(self) -> None:
        self.ticker.stop()
