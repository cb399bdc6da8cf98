"""Tells the user, on stderr, what each framework is doing now."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Protocol, TextIO

from mbench.progress.cell import CellProgress, in_notebook
from mbench.progress.lines import LinesProgress
from mbench.progress.live import LiveProgress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from mbench.engine.outcome import CaseEnded
    from mbench.results.events import Event

__all__ = ["Progress", "open_progress"]


NO_CURSOR = ("dumb", "unknown")
"""Terminals on which nothing can be drawn in place of something else."""


class Progress(Protocol):
    """What the harness reports. Nothing may use the processor while a block is timed."""

    def plan(self, seconds: Sequence[float | None]) -> None:
        """So many comparisons are to come, which take about so long each."""

    def comparison(self, title: str, labels: list[str]) -> None:
        """The next comparison begins, with a row per label."""

    def measuring(self, processes: int | None, budget_seconds: float | None) -> None:
        """Its measurement begins: so many processes, or as many as it takes."""

    def process(self, number: int) -> None:
        """Its fresh processes of this number begin, from 1."""

    def phase(self, label: str, text: str) -> None:
        """`label` is now doing `text`."""

    def round(self, label: str, number: int, of: int, *, seconds: float) -> None:
        """`label` begins a turn, which takes about so long."""

    def steps(self, label: str, done: int, of: int, *, seconds: float) -> None:
        """`label` has done so many of the steps that are counted; the next ones take so long."""

    def timing(self) -> AbstractContextManager[None]:
        """Within it, nothing is shown."""

    def throughput(self, label: str, samples_per_second: float) -> None:
        """`label` has ended a block."""

    def ended(self, label: str, end: CaseEnded) -> None:
        """`label` fell short."""

    def event(self, event: Event) -> None:
        """This was written down."""

    def decided(self, text: str) -> None:
        """This was decided, and why."""

    def say(self, text: str) -> None:
        """This is to be known now: a line that stays."""

    def close(self) -> None:
        """No more news."""


def open_progress(
    stream: TextIO | None = None, *, verbosity: str | None = None, color: bool | None = None
) -> Progress:
    """Live rows on a terminal that can and in notebooks, plain lines elsewhere, nothing where
    "quiet"."""
    stream = stream or sys.stderr
    verbose = verbosity == "verbose"
    if verbosity == "quiet":
        return LinesProgress(io.StringIO())
    if stream.isatty() and os.environ.get("TERM") not in NO_CURSOR:
        return LiveProgress(stream, verbose=verbose, color=color)
    if in_notebook():
        return CellProgress(stream, verbose=verbose)
    return LinesProgress(stream, verbose=verbose)
