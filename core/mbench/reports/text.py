"""Numbers, intervals and lines as text, for every report."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from mbench.console import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.text import Text

__all__ = [
    "digits_of",
    "escape",
    "interval",
    "number",
    "percent",
    "rows_of",
    "spreadsheet",
]

SIGNS = re.compile(r"[\\`*_\[\]|]")

MOST_DIGITS = 4


def number(value: float | None, digits: int = MOST_DIGITS) -> str:
    """`value` to `digits` significant digits without an exponent; empty for None."""
    if value is None:
        return ""
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text else text


def percent(share: float) -> str:
    return f"{number(100 * share, 2)} %"


def digits_of(low: float | None, high: float | None) -> int:
    """The digits of a value that are meaningful given its interval: up to two of the half-width's.

    At least one; `MOST_DIGITS` if the interval is not known.
    """
    if low is None or high is None or not 0 < low < high:
        return MOST_DIGITS
    half_width = min(10.0, math.sqrt(high / low) - 1)
    if not half_width:  # too narrow for floating point
        return MOST_DIGITS
    return min(MOST_DIGITS, 2 - math.floor(math.log10(half_width)))


def spreadsheet(cell: object) -> object:
    """A cell of CSV that no spreadsheet takes for a formula, and no terminal for a command."""
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    text = printable(str(cell))
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def interval(low: float | None, high: float | None) -> str:
    """Both ends, with as many digits as are meaningful and as it takes to tell them from 1, on
    which a verdict depends.
    """
    if low is None or high is None:
        return ""
    fewest = digits_of(low, high)
    ends = [
        next(t for digits in range(fewest, 18) if (t := number(end, digits)) != "1" or end == 1)
        for end in (low, high)
    ]
    return " .. ".join(ends)


def rows_of(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(map(escape, cells)) + " |" for cells in lines]


def escape(text: str | Text) -> str:
    """`text` in one line of Markdown, with its special characters shown literally."""
    shown = SIGNS.sub(r"\\\g<0>", printable(" ".join(str(text).split())))
    return shown.replace("<", "&lt;")
