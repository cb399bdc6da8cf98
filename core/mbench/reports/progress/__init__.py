"""Shows on stderr what a run is doing: hears events, keeps a state, draws lines or rows."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from mbench.reports.progress.lines import LinesProgress
from mbench.reports.progress.live import CellProgress, LiveProgress, in_notebook

if TYPE_CHECKING:
    from mbench.reports.progress.reporter import ProgressReporter

__all__ = ["open_progress"]

NO_CURSOR = ("dumb", "unknown")
"""Terminals that cannot move their cursor back."""


def open_progress(
    stream: TextIO | None = None, *, verbosity: str | None = None, color: bool | None = None
) -> ProgressReporter:
    """Live rows on a terminal that can show them and in notebooks, plain lines elsewhere, nothing
    if "quiet".
    """
    stream = stream or sys.stderr
    verbose = verbosity == "verbose"
    if verbosity == "quiet":
        return LinesProgress(io.StringIO())
    if stream.isatty() and os.environ.get("TERM") not in NO_CURSOR:
        return LiveProgress(stream, verbose=verbose, color=color)
    if in_notebook():
        return CellProgress(stream, verbose=verbose)
    return LinesProgress(stream, verbose=verbose)
