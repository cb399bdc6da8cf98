"""Progress as plain lines with the time of day, for logs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from mbench.console import counted, printable
from mbench.progress.reporter import ProgressReporter
from mbench.spec.estimate import span

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.engine.outcome import CaseEnded

__all__ = ["LinesProgress"]

STILL_SECONDS = 60.0


class LinesProgress(ProgressReporter):
    """One line per change of phase and per process; rounds are not told one by one."""

    def __init__(
        self,
        stream: TextIO,
        *,
        verbose: bool = False,
        clock: Callable[[], float] = time.monotonic,
        still_seconds: float = STILL_SECONDS,
    ) -> None:
        super().__init__(verbose=verbose, every_seconds=still_seconds / 4, clock=clock)
        self.stream = stream
        self.still_seconds = still_seconds
        self.said_at = clock()
        self.last = ""

    def say(self, text: str) -> None:
        self.said_at = self.course.clock()
        print(time.strftime("%H:%M:%S"), printable(text), file=self.stream, flush=True)

    def tick(self) -> None:
        """That it goes on, after a minute without a line."""
        now = self.course.clock()
        if self.last and now - self.said_at >= self.still_seconds:
            row = self.course.row(self.last)
            self.say(
                f"{self.last}: still {row.phase}, after {span(now - row.since)}; "
                f"{self.course.times()}"
            )

    def enter(self, label: str, text: str) -> bool:
        """Whether `label` has not been doing `text` before."""
        row, self.last = self.course.row(label), label
        if row.phase == text:
            return False
        row.phase, row.since = text, self.course.clock()
        return True

    def comparison(self, title: str, labels: list[str]) -> None:
        self.course.comparison(title, labels)
        place = f" ({place}; {self.course.times()})" if (place := self.course.place()) else ""
        self.say(f"== {title}: {', '.join(labels)}{place}")
        self.ticker.start()

    def process(self, number: int) -> None:
        self.course.begin_process(number)
        self.say(f"{self.course.place()}; {self.course.times()}")

    def phase(self, label: str, text: str) -> None:
        if self.enter(label, text):
            self.say(f"{label}: {text}")

    def round(self, label: str, number: int, of: int, *, seconds: float) -> None:
        if number == 1:
            self.say(f"{label}: measuring, {counted(of, 'round')}")
        self.enter(label, f"measuring, round {number} of {of}")

    def steps(self, label: str, done: int, of: int, *, seconds: float) -> None:
        if done == 0:
            self.say(f"{label}: timing {counted(of, 'step')}")
        self.enter(label, f"timing, {done} of {of} steps")

    def throughput(self, label: str, samples_per_second: float) -> None:
        self.course.row(label).rate = samples_per_second

    def ended(self, label: str, end: CaseEnded) -> None:
        self.say(f"{label}: {end}")
        self.last = ""
