"""Verdicts on a fleet for people: an answer, tables, and lines about how it was made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.console import printable
from mbench.fleet.page import page_of
from mbench.reports.grid import write
from mbench.reports.text import escape

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rich.console import RenderableType

    from mbench.reports.grid import Grid

__all__ = ["SHOWN", "Sheet", "document"]

SHOWN = 40
"""Rows of a table for people; JSON has them all."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A verdict for people."""

    answer: str
    """In one line."""
    grids: Sequence[Grid]
    lines: Sequence[str]
    """How it was made, and what else there is to know."""
    error: Collection[str] = ()
    """Cells, such as a verdict, that set off their row on the page."""
    warning: Collection[str] = ()

    def table(self) -> RenderableType:
        from mbench.reports.terminal import Sentences, paragraphs

        first, last = [printable(self.answer)], list(map(printable, self.lines))
        return paragraphs([Sentences(first), *self.grids, Sentences(last)])

    def markdown(self) -> str:
        parts = [f"**{escape(self.answer)}**\n"]
        if self.grids:
            parts.append(str(write(list(self.grids), format_="markdown")))
        parts.append("\n".join(f"- {escape(line)}" for line in self.lines) + "\n")
        return "\n".join(parts)

    def page(self) -> str:
        """Without scripts, everything from files escaped."""
        return page_of(self.answer, self.grids, self.lines, error=self.error, warning=self.warning)


def document(found: Mapping[str, object]) -> str:
    """JSON without what is not a number."""
    return json.dumps(found, indent=1, allow_nan=False) + "\n"
