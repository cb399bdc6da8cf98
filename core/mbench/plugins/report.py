"""What the formats and exporters of plugins implement: both take the summary of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

__all__ = ["Exporter", "Report"]


class Report(Protocol):
    """A format: renders the summary of a run.

    The summary is an `mbench.results.summary.Summary`, which this layer does not import.
    """

    def __call__(self, summary: Any, /) -> RenderableType:
        """The whole report: text that ends with a newline, or an object that rich lays out for
        its destination.
        """


class Exporter(Protocol):
    """Passes a run to another tool, as its summary and its folder or file.

    It may have a method `check()`, which is called before anything is measured, and raises
    MbenchError if nothing could be exported.
    """

    def __call__(self, summary: Any, folder: Path, /) -> str:
        """Where the run is now, in one line; raises MbenchError if it cannot be exported."""
