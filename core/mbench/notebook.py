"""A run as a value that notebooks and the interactive interpreter show by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Result"]


@dataclass(frozen=True, repr=False)
class Result:
    """The document of a run, described in docs/results-schema.md."""

    document: dict[str, Any]

    def __repr__(self) -> str:
        from mbench.reports.table import render

        return render(self.document)

    def _repr_html_(self) -> str:
        from mbench.reports.html import fragment

        return fragment(self.document)
