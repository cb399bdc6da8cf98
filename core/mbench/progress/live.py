"""Progress as rows on a terminal that move, but not while a block is timed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, TextIO

from mbench.console import printable
from mbench.progress.reporter import ProgressReporter
from mbench.results.proof import EQUAL
from mbench.spec.estimate import span

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mbench.engine.outcome import CaseEnded

__all__ = ["Display", "LiveProgress"]

EVERY_SECONDS = 0.5
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TELLING_SECONDS = 2.0
"""A phase that takes longer says how long it has taken."""


class Display(Protocol):
    """Where rows are drawn in place of those before: rich's `Live`, or a notebook's cell."""

    def start(self) -> None: ...
    def update(self, renderable: RenderableType, *, refresh: bool) -> None: ...
    def stop(self) -> None: ...


class LiveProgress(ProgressReporter):
    """Rows that are drawn at each change and twice a second, unless a block is being timed.

    What is timed has a mark that blinks, which is the terminal's own doing and costs nothing here.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        verbose: bool = False,
        color: bool | None = None,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        from rich.console import Console

        super().__init__(verbose=verbose, every_seconds=every_seconds)
        self.console = Console(file=stream, stderr=True, no_color=color is False or None)
        self.live: Display | None = None
        self.frame = 0

    def say(self, text: str) -> None:
        """A line that stays, above the rows."""
        with self.ticker.lock:
            self.console.print(
                f"{time.strftime('%H:%M:%S')} {printable(text)}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )

    def tick(self) -> None:
        if self.live is not None:
            self.frame += 1
            self.live.update(self.rendered(), refresh=True)

    def rendered(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        course, now = self.course, self.course.clock()
        head = Text(printable(course.title), style="bold")
        if place := course.place():
            head.append(f"  {place}", style="not bold cyan")
        rows = Table.grid(padding=(0, 2))
        rows.add_column(no_wrap=True)
        rows.add_column(ratio=1)
        rows.add_column(justify="right", no_wrap=True)
        for label, row in course.rows.items():
            phase = Text(printable(row.phase))
            if row.timed:
                phase = Text.assemble(("● ", "blink green"), phase)
            elif now - row.since >= TELLING_SECONDS and row.phase not in QUIET:
                phase.append(f", {span(now - row.since)}")
            rate = "" if row.rate is None else f"{said(row.rate)} samples/s"
            rows.add_row(Text(f"  {printable(label)}"), phase, rate)
        spinner = SPINNER[self.frame % len(SPINNER)]
        parts: list[RenderableType] = [head, rows, Text(f"{spinner} {course.times()}")]
        if course.budget_seconds is not None:
            used = course.measured() / course.budget_seconds
            bar = Table.grid(padding=(0, 1))
            text = f"{min(100, 100 * used):.0f} % of the budget of {span(course.budget_seconds)}"
            bar.add_row(ProgressBar(total=1.0, completed=min(1.0, used), width=20), text)
            parts.append(bar)
        return Group(*parts)

    def comparison(self, title: str, labels: list[str]) -> None:
        with self.ticker.lock:
            self.course.comparison(title, labels)
            if self.live is None:
                self.live = self.opened()
                self.live.start()
        self.ticker.start()
        self.ticker.now()

    def opened(self) -> Display:
        from rich.live import Live

        return Live(console=self.console, auto_refresh=False, transient=True)

    def process(self, number: int) -> None:
        self.course.begin_process(number)
        self.ticker.now()

    def phase(self, label: str, text: str) -> None:
        row = self.course.row(label)
        if row.phase != text:
            row.phase, row.since = text, self.course.clock()
            if self.live is None:
                self.say(f"{label}: {text}")
            self.ticker.now()

    def round(self, label: str, number: int, of: int, *, seconds: float) -> None:
        self.timed(label, f"round {number} of {of}", seconds)

    def steps(self, label: str, done: int, of: int, *, seconds: float) -> None:
        self.timed(label, f"timing, {done} of {of} steps", seconds)

    def timed(self, label: str, text: str, seconds: float) -> None:
        """Drawn beforehand where it is long: nothing is drawn before its end."""
        row = self.course.row(label)
        row.phase, row.since, row.timed = text, self.course.clock(), True
        if seconds >= TELLING_SECONDS:
            row.phase += f", takes about {span(seconds)} from {time.strftime('%H:%M:%S')}"
        if seconds >= min(TELLING_SECONDS, self.ticker.every_seconds):
            self.ticker.now()
        else:
            self.ticker.if_due()

    def throughput(self, label: str, samples_per_second: float) -> None:
        row = self.course.row(label)
        row.rate, row.timed = samples_per_second, False
        row.phase, row.since = "stopped, others' turn", self.course.clock()

    def ended(self, label: str, end: CaseEnded) -> None:
        row = self.course.row(label)
        row.phase, row.since, row.timed = str(end), self.course.clock(), False
        self.ticker.now()

    def close(self) -> None:
        super().close()
        if self.live is not None:
            self.live.stop()
            self.live = None


QUIET = ("waiting", "built", "stopped, others' turn", "not proven",
         *EQUAL, *(f"{grade} before" for grade in EQUAL))  # fmt: skip


def said(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 1e3 else f"{rate:,.4g}"
