"""The report as Markdown, for pull requests and pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mbench.reports.cells import case_columns, case_rows
from mbench.reports.remarks import (
    disturbance_lines,
    protocol_line,
    search_lines,
    variables_lines,
    verdict_lines,
)
from mbench.reports.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["escape", "render", "rows_of"]

REMARKS = (variables_lines, search_lines, disturbance_lines, verdict_lines)
SIGNS = re.compile(r"[\\`*_\[\]|]")


def render(document: dict[str, Any]) -> str:
    """A table of the cases, then disturbances and verdicts as a list."""
    lines = [
        *rows_of(case_columns(document), case_rows(document)),
        "",
        *([escape(protocol), ""] if (protocol := protocol_line(document)) else []),
        *(f"- {escape(text)}" for lines in REMARKS for text in lines(document)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def rows_of(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(map(escape, cells)) + " |" for cells in lines]


def escape(text: str) -> str:
    """`text` in one line, its signs shown rather than obeyed."""
    text = SIGNS.sub(r"\\\g<0>", printable(" ".join(text.split())))
    return text.replace("<", "&lt;")
