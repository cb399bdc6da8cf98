"""Rows in a terminal whose size changes: what was drawn before is erased, and nothing else."""

from __future__ import annotations

import io
import os
import re

import pytest
from rich.console import Console, ConsoleDimensions
from rich.text import Text

from mbench.reports.progress.rows import Above

TOKEN = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\[\?25[lh]|(.)", re.DOTALL)


class Terminal(io.StringIO):
    """Behaves as most terminals: it wraps lines anew when its width changes. When its height
    shrinks, it keeps what it scrolls away; it shows that again when it grows.
    """

    def __init__(self, width, height):
        super().__init__()
        self.lines, self.row, self.column = [""], 0, 0
        self.size = os.terminal_size((width, height))

    def isatty(self):
        return True

    def place(self):
        """The first screen row of each line, and the number of rows of all lines."""
        width, starts, count = self.size.columns, [], 0
        for line in self.lines:
            starts.append(count)
            count += max(1, -(-len(line) // width))
        return starts, count

    def write(self, text):
        for number, letter, sign in TOKEN.findall(text):
            if letter == "A":
                starts, count = self.place()
                at = starts[self.row] + self.column // self.size.columns - int(number or 1)
                self.go(max(at, count - self.size.lines, 0))
            elif letter == "K":
                self.erase()
            elif sign == "\r":
                self.column -= self.column % self.size.columns
            elif sign == "\n":
                self.row, self.column = self.row + 1, 0
                if self.row == len(self.lines):
                    self.lines.append("")
            elif sign:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + sign + line[self.column + 1 :]
                self.column += 1
        return len(text)

    def go(self, row):
        starts, _ = self.place()
        self.row = max(at for at, start in enumerate(starts) if start <= row)
        self.column = (row - starts[self.row]) * self.size.columns

    def erase(self):
        """Erase the screen row that the cursor is in."""
        width = self.size.columns
        begin = self.column - self.column % width
        line = self.lines[self.row]
        self.lines[self.row] = line[:begin] + " " * len(line[begin : begin + width]) + line[
            begin + width :]  # fmt: skip
        self.lines[self.row] = self.lines[self.row].rstrip()

    @property
    def shown(self):
        return [line.rstrip() for line in self.lines if line.strip()]


def rows(count, width):
    return Text("\n".join(f"row {at} ".ljust(width, "x") for at in range(count)))


@pytest.mark.parametrize(
    "sizes",
    [
        [(40, 8)],
        [(12, 3), (100, 30)],
        [(40, 8), (12, 3), (100, 30)],
        [(100, 3), (100, 30)],
        [(30, 30), (100, 30), (30, 30)],
        [(100, 3), (100, 2), (100, 3), (100, 30)],
    ],
)
def test_rows_of_a_terminal_that_is_resized_leave_nothing(sizes, monkeypatch):
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    terminal = Terminal(100, 30)
    monkeypatch.setattr(Console, "size", property(lambda _: ConsoleDimensions(*terminal.size)))
    console = Console(file=terminal, force_terminal=True, color_system=None)
    console.print("a line of before")
    live = Above(console)
    live.start()
    live.update(rows(5, 60), refresh=True)
    for size in sizes:
        terminal.size = os.terminal_size(size)
        live.update(rows(5, 60), refresh=True)
    terminal.size = os.terminal_size((100, 30))
    live.update(rows(5, 60), refresh=True)
    assert [line[:5] for line in terminal.shown[-5:]] == [f"row {at}" for at in range(5)]
    live.stop()
    console.print("a line after")
    assert terminal.shown == ["a line of before", "a line after"]
