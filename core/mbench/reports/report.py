"""What a report is: a function from a run's summary to text."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Report"]


class Report(Protocol):
    """Renders the document of a summary, `mbench.results.summary.Summary.to_json`."""

    def __call__(self, document: dict[str, Any], /) -> str:
        """The whole report, newline at its end."""
