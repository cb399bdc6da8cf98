"""Lays tables and lines out for a terminal of any width, without ever breaking a word that fits."""

from __future__ import annotations

import re
import shutil
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = ["WIDTH", "drawn", "folded", "terminal_width"]

NARROWEST = 40
WIDTH = 160
"""Where there is no terminal."""
BLANKS = re.compile(r"(?<!\s\.\.)\s+(?!%|\.\.\s)")
GAP = "  "
INDENT = "  "
READABLE = 12
"""Signs that a column of prose gets before others are left out for it."""


def terminal_width() -> int:
    """Columns to lay out for: the terminal's, or what COLUMNS says."""
    return max(shutil.get_terminal_size((WIDTH, 24)).columns, NARROWEST)


def words(text: str) -> list[str]:
    """What is never broken: words, a number with its percent sign, both ends of an interval."""
    return [word for word in BLANKS.split(text) if word]


def cells(text: str) -> int:
    """Columns that `text` takes; some signs of other scripts take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrapped(text: str, width: int, *, indent: str = "") -> list[str]:
    """`text` in lines of at most `width` columns, those after the first indented.

    A word is broken only where it is longer than a whole line.
    """
    lines, line = [], ""
    for word in words(text):
        if line.strip() and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = indent
        line += (" " if line.strip() else "") + word
        while cells(line) > width:
            most = min(len(line), width)  # a word may be very long
            at = next(at for at in range(most, 0, -1) if cells(line[:at]) <= width)
            lines.append(line[:at])
            line = indent + line[at:]
    return [*lines, line] if line.strip() or not lines else lines


def folded(lines: Iterable[str], width: int) -> list[str]:
    """Each line in as many of at most `width` columns as it takes, with a hanging indent."""
    return [part for line in lines for part in wrapped(line, width, indent=INDENT)]


def drawn(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    numeric: Collection[int] = (),
    spare: Sequence[int] = (),
    all_in: str = "",
) -> list[str]:
    """The lines of a table under its header.

    Columns at `numeric` stand to the right and are not folded. Where all do not fit, those at
    `spare` are left out, the first one first, and a line names them and says that `all_in` has
    them. Where the others do not fit either, every row becomes lines of its own, a label and
    a value each, and nothing is left out.
    """
    shape = [Column(name, [row[at] for row in rows], fixed=at in numeric)
             for at, name in enumerate(columns)]  # fmt: skip
    kept, gone = list(range(len(columns))), list(spare)
    while gone and needed([shape[at].least for at in kept]) > width:
        kept.remove(gone.pop(0))
    if needed([shape[at].least for at in kept]) > width:
        return stacked(columns, rows, width=width)
    widths = shared([shape[at] for at in kept], width)

    def line(texts: Sequence[str]) -> list[str]:
        return side_by_side([texts[at] for at in kept], widths,
                            right=[at in numeric for at in kept])  # fmt: skip

    lines = [*line(columns), GAP.join("─" * size for size in widths)]
    for row in rows:
        lines += line(row)
    if lost := [name for at, name in enumerate(columns) if at not in kept]:
        enough = needed([column.least for column in shape])
        what = f"{all_in} or " if all_in else ""
        said = (
            f"left out at {width} columns: {', '.join(lost)}; {what}a terminal of {enough} columns"
        )
        lines += folded([f"{said} has all"], width)
    return lines


class Column:
    """How wide a column has to be, and would like to be."""

    def __init__(self, name: str, texts: Sequence[str], *, fixed: bool) -> None:
        self.most = max(map(cells, (name, *texts)))
        whole_words = [word for text in (name, *texts) for word in words(text)]
        whole = max(map(cells, texts), default=0) if fixed else min(self.most, READABLE)
        self.least = max([whole, *map(cells, whole_words)])


def needed(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def shared(columns: Sequence[Column], width: int) -> list[int]:
    """The width of each column: what it needs, and of the rest what it can use."""
    widths = [column.least for column in columns]
    rest = width - needed(widths)
    wanting = sorted(range(len(columns)), key=lambda at: columns[at].most - columns[at].least)
    for served, at in enumerate(wanting):
        more = min(columns[at].most - columns[at].least, rest // (len(wanting) - served))
        widths[at] += more
        rest -= more
    return widths


def side_by_side(
    texts: Sequence[str], widths: Sequence[int], *, right: Sequence[bool]
) -> list[str]:
    """One row, in as many lines as its longest cell takes."""
    parts = [wrapped(text, size) for text, size in zip(texts, widths, strict=True)]
    lines = []
    for line in zip_longest(*parts, fillvalue=""):
        padded = []
        for text, size, to_the_right in zip(line, widths, right, strict=True):
            blank = " " * (size - cells(text))
            padded.append(blank + text if to_the_right else text + blank)
        lines.append(GAP.join(padded).rstrip())
    return lines


def stacked(columns: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> list[str]:
    """Each row as lines of a label and its value, what is empty left out."""
    label = min(max(map(cells, columns)) + len(INDENT), width // 2)
    value = width - label - len(GAP)
    lines: list[str] = []
    for row in rows:
        lines += [""] if lines else []
        for name, text in zip(columns, row, strict=True):
            indent = INDENT if name != columns[0] else ""
            if text:
                sides = (label - len(indent), value)
                parts = side_by_side((name, text), sides, right=(False, False))
                lines += [indent + part for part in parts]
    return lines
