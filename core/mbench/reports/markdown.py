"""The report as Markdown, for pull requests and pages."""

from __future__ import annotations

import re
from typing import Any

from mbench.reports.cells import case_columns, case_rows
from mbench.reports.remarks import (
    disturbance_lines,
    protocol_line,
    search_lines,
    variables_lines,
    verdict_lines,
)
from mbench.reports.text import printable

__all__ = ["render"]

REMARKS = (variables_lines, search_lines, disturbance_lines, verdict_lines)
SIGNS = re.compile(r"[\\`*_\[\]|]")


def render(document: dict[str, Any]) -> str:
    """A table of the cases, then disturbances and verdicts as a list."""
    columns = case_columns(document)
    lines = [
        line(columns),
        line(["---"] * len(columns)),
        *(line(row) for row in case_rows(document)),
        "",
        *([escape(protocol), ""] if (protocol := protocol_line(document)) else []),
        *(f"- {escape(text)}" for lines in REMARKS for text in lines(document)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def line(cells: list[str]) -> str:
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"


def escape(text: str) -> str:
    """`text` in one line, its signs shown rather than obeyed."""
    text = SIGNS.sub(r"\\\g<0>", printable(" ".join(text.split())))
    return text.replace("<", "&lt;")
