"""Lays reports out for a terminal, a file or a pipe: tables and sentences, drawn by rich.

A report is text, or something that rich can render, which is laid out for where it goes.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, Group
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from mbench.console import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from rich.console import ConsoleOptions, RenderableType, RenderResult

__all__ = ["GAP", "INDENT", "Screen", "Sentences", "joined", "paragraphs", "table", "wrapped"]

NARROWEST = 40
UNLIMITED = 100_000
READABLE = 12
"""Least width of a column of longer prose; others are left out rather than make it narrower."""
GAP = 2
INDENT = "  "
BLANK = re.compile(r"\s")
WORD = re.compile(r"\S+(?:\s+(?:%\S*|\.\.\s+\S+))*")
"""What is never broken: a word, a number with its percent sign, both ends of an interval."""
RULE = Box("    \n    \n ─  \n    \n    \n    \n    \n    \n")
THEME = Theme(
    {
        "winner": "bold green",
        "inconclusive": "bold",
        "proven": "green",
        "unproven": "bold magenta",
        "disturbed": "bold yellow",
        "failed": "bold red",
        "heading": "bold",
    }
)
"""Colours only repeat what words say. All terminals have these, and readers need none of them."""


@dataclass(frozen=True)
class Screen:
    """Where a report is shown. A file or a pipe has no width, so lines are never folded for it."""

    width: int | None = None
    colour: bool = False

    @classmethod
    def of(cls, stream: TextIO, *, colour: bool = False) -> Screen:
        """The screen of `stream`: as wide as COLUMNS says, else as the terminal if it is one."""
        known = os.environ.get("COLUMNS", "")
        if not stream.isatty() and not (known.isdigit() and int(known)):
            return cls(colour=colour)
        return cls(max(shutil.get_terminal_size().columns, NARROWEST), colour)

    def text(self, report: RenderableType) -> str:
        """The report laid out for this screen, with its control characters removed. A string is
        returned as it is.
        """
        if isinstance(report, str):
            return report
        console = Console(
            file=io.StringIO(), width=self.width or UNLIMITED, height=25, theme=THEME,
            force_terminal=self.colour, color_system="standard" if self.colour else None,
            no_color=not self.colour, force_jupyter=False, highlight=False, markup=False,
            emoji=False, _environ={},
        )  # fmt: skip
        segments = (Segment(harmless(text), style) for text, style, _ in console.render(report))
        with console.capture() as captured:
            console.print(Segments(segments), end="")
        return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def harmless(text: str) -> str:
    """`text` without anything that would move the cursor or change colours, except line ends."""
    return "\n".join(map(printable, text.split("\n")))


@dataclass(frozen=True)
class Sentences:
    """Lines, each folded with a hanging indent where it is wider than the screen."""

    lines: Sequence[str | Text]
    indent: str = INDENT
    """Indent of all lines but the first of each."""

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines:
            text = Text(line) if isinstance(line, str) else line
            yield from wrapped(text, options.max_width, self.indent)


def wrapped(text: Text, width: int, hanging: str = INDENT) -> Iterator[Text]:
    """`text` in lines of at most `width` columns; longer words are left to rich."""
    text = text.copy()
    text.plain = BLANK.sub(" ", text.plain)  # one for one, so that styles keep their positions
    begin = end = 0
    indent = ""
    for word in WORD.finditer(text.plain):
        if end and len(indent) + cell_len(text.plain[begin : word.end()]) > width:
            yield Text(indent).append(text[begin:end])
            begin, indent = word.start(), hanging
        end = word.end()
    yield Text(indent).append(text[begin:end])


def joined(parts: Iterable[str | Text], by: str = "; ") -> Text:
    """The parts that are not empty, separated by `by`, each in its own style."""
    made = Text()
    for part in parts:
        if part:
            made.append(by * bool(made)).append(part)
    return made


def paragraphs(blocks: Iterable[RenderableType | None]) -> Group:
    """All blocks that are not None, with an empty line between them."""
    parts: list[RenderableType] = []
    for block in blocks:
        if block is not None and block != Sentences([]):
            parts += [Text(), block] if parts else [block]
    return Group(*parts)


class Column:
    """How wide a column has to be, and would like to be. Cells of numbers are never folded, and a
    `whole` column is folded last.
    """

    def __init__(
        self, name: str, cells: Sequence[Text], *, number: bool = False, whole: bool = False
    ) -> None:
        self.name, self.cells, self.number, self.whole = name, cells, number, whole
        longest = max((cell.cell_len for cell in cells), default=0)
        self.most = max(cell_len(name), longest, 1)
        words = [word for text in (name, *(cell.plain for cell in cells)) for word in text.split()]
        self.folded = max([longest if number else min(self.most, READABLE), *map(cell_len, words)])
        self.least = self.most if whole else self.folded

    def fold(self) -> None:
        """Allow the column to be folded after all."""
        self.whole, self.least = False, self.folded


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    *,
    width: int,
    numeric: Collection[int] = (),
    whole: Collection[int] = (),
    spare: Sequence[int] = (),
    all_in: str | None = "",
    legend: Mapping[int, str] | None = None,
) -> Iterator[RenderableType]:
    """A table under its header.

    Columns at `numeric` are right-aligned and not folded; those at `whole` are folded last. If not
    all fit, those at `spare` are left out in that order, and a line names them and says that
    `all_in` has them, unless it is None. If the others do not fit either, every row becomes lines
    of its own, each with a label and a value, and nothing is left out. `legend` says what columns
    mean.
    """
    known = [
        Column(name, [row[at] for row in rows], number=at in numeric, whole=at in whole)
        for at, name in enumerate(columns)
    ]
    shown, gone = list(known), [known[at] for at in spare]
    while gone and needed(shown) > width:
        shown.remove(gone.pop(0))
    if needed(shown) > width:
        for column in shown:
            column.fold()
    meanings = [text for at, text in (legend or {}).items() if known[at] in shown]
    if needed(shown) > width:
        yield from stacked(known, width)
        yield Sentences(["; ".join(meanings)] if meanings else [])
        return
    made = Table(box=RULE, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0),
                 header_style="heading")  # fmt: skip
    for column, size in zip(shown, shared(shown, width), strict=True):
        made.add_column(column.name, width=size, overflow="fold", no_wrap=column.whole,
                        justify="right" if column.number else "left")  # fmt: skip
    for row in zip(*(column.cells for column in shown), strict=True):
        made.add_row(*row)
    yield made
    yield Sentences(["; ".join(meanings)] if meanings else [])
    lost = [column.name for column in known if column not in shown]
    if lost and all_in is not None:
        where = f"{all_in} or " if all_in else ""
        yield Sentences([f"left out at {width} columns: {', '.join(lost)}; use {where}a terminal "
                         f"of {needed(known)} columns to see all"])  # fmt: skip


def needed(columns: Sequence[Column]) -> int:
    return sum(column.least for column in columns) + GAP * (len(columns) - 1)


def shared(columns: Sequence[Column], width: int) -> list[int]:
    """The width of each column: what it needs, plus what it can use of the rest.

    rich shrinks the widest columns first, whatever they hold, and would break words.
    """
    widths, rest = [column.least for column in columns], width - needed(columns)
    wanting = sorted(range(len(columns)), key=lambda at: columns[at].most - columns[at].least)
    for served, at in enumerate(wanting):
        more = min(columns[at].most - columns[at].least, rest // (len(wanting) - served))
        widths[at] += more
        rest -= more
    return widths


def stacked(columns: Sequence[Column], width: int) -> Iterator[RenderableType]:
    """Each row as lines of a label and its value; empty values are left out."""
    label = min(max(cell_len(column.name) for column in columns) + len(INDENT), width // 2)
    for at in range(len(columns[0].cells)):
        made = Table.grid(padding=(0, GAP, 0, 0))
        made.add_column(width=label, overflow="fold")
        made.add_column(width=width - label - GAP, overflow="fold")
        for column in columns:
            indent = "" if column is columns[0] else INDENT
            if column.cells[at]:
                made.add_row(indent + column.name, column.cells[at])
        yield from (Text(), made) if at else (made,)
