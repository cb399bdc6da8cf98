"""Progress as plain lines with the time of day, for logs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from mbench.console import counted, printable, span
from mbench.measure.activity import (
    BlockBegan,
    CaseStopped,
    ComparisonBegan,
    PhaseBegan,
    ProcessBegan,
)
from mbench.reports.progress.reporter import ProgressReporter

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.measure.activity import Activity

__all__ = ["LinesProgress"]

STILL_SECONDS = 60.0


class LinesProgress(ProgressReporter):
    """A line per phase and per process, but not per round."""

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
        self.said_at = self.state.clock()
        print(time.strftime("%H:%M:%S"), printable(text), file=self.stream, flush=True)

    def tick(self) -> None:
        """After a minute without a line, say that the run goes on."""
        now = self.state.clock()
        if now - self.said_at >= self.still_seconds and (label := self.last or self.working()):
            row = self.state.row(label)
            after = span(now - row.since)
            self.say(f"{label}: still {row.phase}, after {after}; {self.state.times()}")

    def working(self) -> str:
        """The label that is still busy and began its phase last; empty if none is."""
        rows = self.state.rows
        going = [label for label in rows if rows[label].phase and not rows[label].over]
        return max(going, key=lambda label: rows[label].since, default="")

    def show(self, activity: Activity) -> None:
        match activity:
            case PhaseBegan(label, text):
                self.say(f"{label}: {text}")
                self.last = "" if activity.over else label
            case BlockBegan(label):
                if activity.done == 0:
                    self.say(f"{label}: measuring, {counted(activity.of, activity.unit)}")
                self.last = label
            case CaseStopped(label, end):
                self.say(f"{label}: {end}")
                self.last = ""
            case ProcessBegan():
                self.say(f"{self.state.position()}; {self.state.times()}")
            case ComparisonBegan(title, labels):
                position = self.state.position()
                where = f" ({position}; {self.state.times()})" if position else ""
                self.say(f"== {title}: {', '.join(labels)}{where}")
                self.ticker.start()
