"""Numbers, intervals and lines as text, for every report."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["folded", "interval", "number", "plain", "printable"]


def number(value: float | None, digits: int = 4) -> str:
    """`value` to `digits` significant digits without an exponent; empty for None."""
    if value is None:
        return ""
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text else text


def printable(text: str) -> str:
    """`text` without what would move a terminal's cursor or change its colours."""
    return "".join(sign for sign in text if sign.isprintable())


def plain(text: str) -> str:
    """The lines of `text` without trailing blanks, each printable."""
    return "\n".join(printable(line.rstrip()) for line in text.splitlines()) + "\n"


def interval(low: float | None, high: float | None) -> str:
    """Both ends, with as many digits as tell them from 1: a verdict hangs on that."""
    if low is None or high is None:
        return ""
    ends = [
        next(text for digits in range(4, 18) if (text := number(end, digits)) != "1" or end == 1)
        for end in (low, high)
    ]
    return " .. ".join(ends)


def folded(lines: Iterable[str], width: int) -> list[str]:
    """Each line in as many of at most `width` signs as it takes; words are kept whole that fit."""
    return [part for line in lines for part in textwrap.wrap(line, width) or [""]]
