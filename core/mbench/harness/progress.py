"""Tells the user, on stderr, what each framework is doing now."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TextIO

from mbench.console import printable

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from mbench.engine.outcome import CaseEnded

__all__ = ["LinesProgress", "LiveProgress", "Progress", "open_progress"]


class Progress(Protocol):
    """What the harness reports. Nothing here may use the processor while a block is timed."""

    def comparison(self, title: str, labels: list[str]) -> None:
        """A new comparison begins, with a row per label."""

    def phase(self, label: str, text: str) -> None:
        """`label` is now doing `text`."""

    def round(self, label: str, number: int, of: int) -> None:
        """`label` begins a block."""

    def steps(self, label: str, done: int, of: int) -> None:
        """`label` has done so many of the steps that are counted."""

    def throughput(self, label: str, samples_per_second: float) -> None:
        """`label` has ended a block."""

    def ended(self, label: str, end: CaseEnded) -> None:
        """`label` fell short."""

    def close(self) -> None:
        """No more news."""


def open_progress(stream: TextIO | None = None, *, verbosity: str | None = None) -> Progress:
    """Live rows on a terminal, plain lines elsewhere, nothing where it is to be "quiet"."""
    stream = stream or sys.stderr
    if verbosity == "quiet":
        return LinesProgress(io.StringIO())
    return LiveProgress(stream) if stream.isatty() else LinesProgress(stream)


class LinesProgress:
    """One line per change of phase; rounds only now and then, so that logs stay short."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.last_phase: dict[str, str] = {}

    def say(self, text: str) -> None:
        print(printable(text), file=self.stream, flush=True)

    def comparison(self, title: str, labels: list[str]) -> None:
        self.last_phase.clear()
        self.say(f"== {title}: {', '.join(labels)}")

    def phase(self, label: str, text: str) -> None:
        if self.last_phase.get(label) != text:
            self.last_phase[label] = text
            self.say(f"{label}: {text}")

    def round(self, label: str, number: int, of: int) -> None:
        if number == 1:
            self.phase(label, f"measuring, {of} rounds")

    def steps(self, label: str, done: int, of: int) -> None:
        if done == 0:
            self.say(f"{label}: timing {of} steps")

    def throughput(self, label: str, samples_per_second: float) -> None:
        pass

    def ended(self, label: str, end: CaseEnded) -> None:
        self.say(f"{label}: {end}")

    def close(self) -> None:
        pass


@dataclass
class Row:
    """What a terminal shows of one label."""

    phase: str = "waiting"
    rounds: int = 0
    rate: float | None = None


class LiveProgress:
    """A table that is redrawn at each change and never in between."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self.console = Console(file=stream, stderr=True)
        self.rows: dict[str, Row] = {}
        self.title = ""
        self.live: Live | None = None

    def comparison(self, title: str, labels: list[str]) -> None:
        from rich.live import Live

        self.close()
        self.title = title
        self.rows = {label: Row() for label in labels}
        self.live = Live(self.draw(), console=self.console, auto_refresh=False, transient=True)
        self.live.start()

    def draw(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(
            "framework", "phase", "rounds", "samples/s", title=Text(printable(self.title)), box=None
        )
        for label, row in self.rows.items():
            rate = "" if row.rate is None else f"{row.rate:,.4g}"
            if row.rate is not None and row.rate >= 1e3:
                rate = f"{row.rate:,.0f}"
            table.add_row(
                Text(printable(label)), Text(printable(row.phase)), str(row.rounds or ""), rate
            )
        return table

    def redraw(self) -> None:
        if self.live is not None:
            self.live.update(self.draw(), refresh=True)

    def row(self, label: str) -> Row:
        return self.rows.setdefault(label, Row())

    def phase(self, label: str, text: str) -> None:
        self.row(label).phase = text
        if self.live is None:
            self.console.print(printable(f"{label}: {text}"), markup=False, highlight=False)
        self.redraw()

    def round(self, label: str, number: int, of: int) -> None:
        row = self.row(label)
        row.phase, row.rounds = f"round {number} of {of}", row.rounds + 1
        self.redraw()

    def steps(self, label: str, done: int, of: int) -> None:
        self.phase(label, f"timing, {done} of {of} steps")

    def throughput(self, label: str, samples_per_second: float) -> None:
        row = self.row(label)
        row.rate = samples_per_second
        row.phase = "stopped, others' turn"

    def ended(self, label: str, end: CaseEnded) -> None:
        self.row(label).phase = str(end)
        self.redraw()

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None
