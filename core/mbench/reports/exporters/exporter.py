"""What an outlet is: a function that hands a run over to another tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Exporter"]


class Exporter(Protocol):
    """Takes the document of a run, `Summary.to_json()` of `mbench.results.summary`, and the run's
    folder or file.

    It may have a method `check()`, which is called before anything is measured, and raises
    MbenchError where nothing could be handed over.
    """

    def __call__(self, document: dict[str, Any], folder: Path, /) -> str:
        """Where the run is now, in one line; raises MbenchError where it cannot be handed over."""
