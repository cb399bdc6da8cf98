"""Progress as rows that move, on a terminal or in a notebook, but not while a block is timed."""

from __future__ import annotations

import io
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TextIO

from mbench.console import printable, span
from mbench.measure.activity import BlockBegan, BlockEnded, ComparisonBegan, PhaseBegan
from mbench.reports.progress.reporter import ProgressReporter

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mbench.measure.activity import Activity
    from mbench.reports.progress.state import Row

__all__ = ["CellProgress", "LiveProgress", "in_notebook"]

EVERY_SECONDS = 0.5
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
LONG_SECONDS = 2.0
"""Phases that take longer show how long they have taken."""
CELL_WIDTH = 100
PLAIN = "<pre style='line-height: normal; font-family: monospace'>{code}</pre>"


class Display(Protocol):
    """Where new rows replace the old ones: rich's `Live`, or a notebook's cell."""

    def start(self) -> None: ...
    def update(self, renderable: RenderableType, *, refresh: bool) -> None: ...
    def stop(self) -> None: ...


class LiveProgress(ProgressReporter):
    """Rows that are drawn at each change and twice a second, unless a block is being timed.

    A timed row has a mark that blinks: the terminal does that, at no cost here.
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
        self.until = ""
        """How long the timed block takes, in words; empty if that is short."""

    def say(self, text: str) -> None:
        """Print a line that stays, above the rows."""
        with self.ticker.lock:
            self.console.print(
                f"{time.strftime('%H:%M:%S')} {printable(text)}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )

    def show(self, activity: Activity) -> None:
        match activity:
            case ComparisonBegan():
                if self.live is None:
                    self.live = self.opened()
                    self.live.start()
                self.ticker.start()
                self.ticker.now()
            case BlockBegan(seconds=seconds):
                long = f", takes about {span(seconds)} from {time.strftime('%H:%M:%S')}"
                self.until = long if seconds >= LONG_SECONDS else ""
                if seconds >= min(LONG_SECONDS, self.ticker.every_seconds):
                    self.ticker.now()  # nothing is drawn until the block ends
                else:
                    self.ticker.if_due()
            case PhaseBegan(label, text) if self.live is None:
                self.say(f"{label}: {text}")
            case BlockEnded():
                pass
            case _:
                self.ticker.now()

    def tick(self) -> None:
        if self.live is not None:
            self.frame += 1
            self.live.update(self.rendered(), refresh=True)

    def rendered(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        state = self.state
        head = Text(printable(state.title), style="bold")
        if position := state.position():
            head.append(f"  {position}", style="not bold cyan")
        rows = Table.grid(padding=(0, 2))
        rows.add_column(no_wrap=True)
        rows.add_column(ratio=1)
        rows.add_column(justify="right", no_wrap=True)
        for label, row in state.rows.items():
            phase = Text(printable(self.phase(row)))
            if row.timed:
                phase = Text.assemble(("● ", "blink green"), phase)
            rate = "" if row.rate is None else f"{rounded(row.rate)} samples/s"
            rows.add_row(Text(f"  {printable(label)}"), phase, rate)
        spinner = SPINNER[self.frame % len(SPINNER)]
        parts: list[RenderableType] = [head, rows, Text(f"{spinner} {state.times()}")]
        if state.budget_seconds is not None:
            used = state.measured() / state.budget_seconds
            bar = Table.grid(padding=(0, 1))
            text = f"{min(100, 100 * used):.0f} % of the budget of {span(state.budget_seconds)}"
            bar.add_row(ProgressBar(total=1.0, completed=min(1.0, used), width=20), text)
            parts.append(bar)
        return Group(*parts)

    def phase(self, row: Row) -> str:
        passed = self.state.clock() - row.since
        if row.timed:
            return row.phase + self.until
        return row.phase if row.over or passed < LONG_SECONDS else f"{row.phase}, {span(passed)}"

    def opened(self) -> Display:
        from mbench.reports.progress.rows import Above

        return Above(self.console)

    def close(self) -> None:
        super().close()
        if self.live is not None:
            self.live.stop()
            self.live = None


class CellProgress(LiveProgress):
    """The same rows, below the notebook cell that measures."""

    def opened(self) -> Display:
        return Cell()


class Cell:
    """One output of a notebook's cell, with the methods of rich's `Live`."""

    def __init__(self) -> None:
        self.show = import_module("IPython.display")

    def start(self) -> None:
        self.handle = self.show.display(self.show.HTML(""), display_id=True)

    def update(self, renderable: RenderableType, *, refresh: bool) -> None:
        from rich.console import Console

        console = Console(record=True, width=CELL_WIDTH, file=io.StringIO(), force_jupyter=False)
        console.print(renderable)
        html = console.export_html(inline_styles=True, code_format=PLAIN)
        self.handle.update(self.show.HTML(html))

    def stop(self) -> None:
        self.handle.update(self.show.HTML(""))


def in_notebook() -> bool:
    """Whether output is shown by a notebook."""
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter


def rounded(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 1e3 else f"{rate:,.4g}"
