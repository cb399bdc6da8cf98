"""A titled table with footnotes, and its forms: for a terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mbench.console import printable
from mbench.errors import MbenchError
from mbench.reports.text import escape, number, rows_of, spreadsheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

__all__ = ["Cell", "Grid", "speedup", "write"]

Cell = str | Text | int | float | None


@dataclass(frozen=True)
class Grid:
    """One table. Numbers keep all their digits, and are rounded to two decimals for people.

    Columns of numbers are right-aligned, and so are those named in `numeric`, whose cells are text.
    """

    title: str
    columns: Sequence[str]
    rows: list[Any] = field(default_factory=list)
    """Each a sequence of cells, one for each column."""
    numeric: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    """Columns of text that are never folded."""
    spare: Sequence[str] = ()
    """Columns that are left out on a narrow terminal, in this order."""
    all_in: str | None = "--format markdown"
    """The option that shows all columns; if None, columns are left out without a note."""
    legend: Mapping[str, str] = field(default_factory=dict)
    """What columns mean, for a line below the table about those that a terminal shows."""
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> str:
        """The mark of a footnote, the same for the same text."""
        if text not in self.notes:
            self.notes.append(text)
        return f"[{self.notes.index(text) + 1}]"

    def without_repeated(self, *columns: str) -> Grid:
        """The table without those of `columns` that have the same value in every row."""
        said = {column: {row[at] for row in self.rows} for at, column in enumerate(self.columns)}
        return self.without(*(column for column in columns if len(said.get(column, ())) < 2))

    def without(self, *columns: str) -> Grid:
        kept = [at for at, column in enumerate(self.columns) if column not in columns]
        return replace(
            self,
            columns=tuple(self.columns[at] for at in kept),
            rows=[[row[at] for at in kept] for row in self.rows],
        )

    def footnotes(self) -> list[str]:
        return [f"[{number}]: {text}" for number, text in enumerate(self.notes, start=1)]

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The table with its title and footnotes, as wide as there is room for."""
        from mbench.reports.terminal import Sentences, table

        yield Sentences([self.title] if self.title else [])
        numbers = [
            at
            for at, column in enumerate(self.columns)
            if column in self.numeric or any(isinstance(row[at], int | float) for row in self.rows)
        ]
        yield from table(
            self.columns,
            [[styled(cell) for cell in row] for row in self.rows],
            width=options.max_width,
            numeric=numbers,
            whole=[at for at, column in enumerate(self.columns) if column in self.whole],
            spare=[list(self.columns).index(name) for name in self.spare if name in self.columns],
            all_in=self.all_in,
            legend={list(self.columns).index(name): text for name, text in self.legend.items()
                    if name in self.columns},
        )  # fmt: skip
        yield Sentences(self.footnotes())


def speedup(new: float | None, base: float | None) -> float | None:
    """`new` divided by `base`; None if either is not known."""
    return None if new is None or base is None else new / base


def write(grids: Sequence[Grid], *, format_: str) -> RenderableType:
    """All tables in one format; raises MbenchError if there are no tables."""
    if not grids:
        raise MbenchError("nothing to show: the run has no cases")
    return FORMATS[format_](grids)


def shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return f"{cell:.2f}" if abs(cell) >= 0.1 else number(cell, 3)
    return str(cell)


def styled(cell: Cell) -> Text:
    """A cell in one line, in its colours if it has any."""
    return cell if isinstance(cell, Text) else Text(printable(" ".join(shown(cell).split())))


def table(grids: Sequence[Grid]) -> RenderableType:
    """All tables, with a blank line between them."""
    from mbench.reports.terminal import paragraphs

    return paragraphs(grids)


def markdown(grids: Sequence[Grid]) -> str:
    parts = []
    for grid in grids:
        rows = ([shown(cell) for cell in row] for row in grid.rows)
        lines = [f"**{escape(grid.title)}**", "", *rows_of(grid.columns, rows)]
        if grid.notes:
            lines += ["", *(f"{escape(text)}  " for text in grid.footnotes())]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def as_csv(grids: Sequence[Grid]) -> str:
    """Every table with its title in a column of its own, and its footnotes after its rows."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for grid in grids:
        rows = [*grid.rows, *([text] for text in grid.footnotes())]
        for row in (["table", *grid.columns], *([grid.title, *row] for row in rows)):
            writer.writerow(map(spreadsheet, row))
    return out.getvalue()


def as_json(grids: Sequence[Grid]) -> str:
    tables = [
        {
            "title": grid.title,
            "columns": grid.columns,
            "rows": [dict(zip(grid.columns, row, strict=True)) for row in grid.rows],
            "notes": grid.footnotes(),
        }
        for grid in grids
    ]
    return json.dumps({"tables": tables}, indent=2, allow_nan=False, default=str) + "\n"


FORMATS = {"table": table, "markdown": markdown, "csv": as_csv, "json": as_json}
