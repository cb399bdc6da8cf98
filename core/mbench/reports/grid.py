"""A titled table with footnotes, and its forms: for a terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mbench.errors import MbenchError
from mbench.reports.markdown import escape, line
from mbench.reports.text import number, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Cell", "Grid", "speedup", "write"]

Cell = str | int | float | None


@dataclass(frozen=True)
class Grid:
    """One table. Numbers are kept whole, and rounded to two decimals where people read them."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> str:
        """The mark of a footnote, the same for the same text."""
        if text not in self.notes:
            self.notes.append(text)
        return f"[{self.notes.index(text) + 1}]"

    def footnotes(self) -> list[str]:
        return [f"[{number}]: {text}" for number, text in enumerate(self.notes, start=1)]


def speedup(new: float | None, base: float | None) -> float | None:
    """How many times `base` goes into `new`; None where either is not known."""
    return None if new is None or base is None else new / base


def write(grids: Sequence[Grid], *, format_: str) -> str:
    """All tables in one format; raises MbenchError where there is none."""
    if not grids:
        raise MbenchError("nothing to show: the run has no case")
    return FORMATS[format_](grids)


def shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.2f}" if abs(cell) >= 0.1 else number(cell, 3)
    return str(cell)


def table(grids: Sequence[Grid]) -> str:
    """Aligned columns, numbers to the right, a blank line between tables."""
    parts = []
    for grid in grids:
        rows = [[" ".join(shown(cell).split()) for cell in row] for row in grid.rows]
        columns = list(zip(grid.columns, *rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        right = [
            any(isinstance(row[at], int | float) for row in grid.rows)
            for at in range(len(grid.columns))
        ]
        lines = [
            "  ".join(
                cell.rjust(width) if number_like else cell.ljust(width)
                for cell, width, number_like in zip(row, widths, right, strict=True)
            )
            for row in (grid.columns, *rows)
        ]
        rule = "\u2500" * (sum(widths) + 2 * len(widths) - 2)
        parts.append(plain("\n".join([grid.title, lines[0], rule, *lines[1:], *grid.footnotes()])))
    return "\n".join(parts)


def markdown(grids: Sequence[Grid]) -> str:
    parts = []
    for grid in grids:
        lines = [f"**{escape(grid.title)}**", "", line(list(grid.columns))]
        lines.append(line([" --- "] * len(grid.columns)))
        lines += [line([shown(cell) for cell in row]) for row in grid.rows]
        if grid.notes:
            lines += ["", *(f"{escape(text)}  " for text in grid.footnotes())]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def as_csv(grids: Sequence[Grid]) -> str:
    """Every table with its title in a column of its own, and its footnotes after its rows."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for grid in grids:
        writer.writerow(["table", *grid.columns])
        writer.writerows([grid.title, *row] for row in grid.rows)
        writer.writerows([grid.title, text] for text in grid.footnotes())
    return out.getvalue()


def as_json(grids: Sequence[Grid]) -> str:
    tables: list[dict[str, Any]] = [
        {
            "title": grid.title,
            "columns": grid.columns,
            "rows": [dict(zip(grid.columns, row, strict=True)) for row in grid.rows],
            "notes": grid.footnotes(),
        }
        for grid in grids
    ]
    return json.dumps({"tables": tables}, indent=2, allow_nan=False) + "\n"


FORMATS = {"table": table, "markdown": markdown, "csv": as_csv, "json": as_json}
