"""Texts from files in messages: short, and without terminal control characters."""

from __future__ import annotations

from mbench.console import printable

__all__ = ["few", "short"]

NAMED = 4


def short(text: str, most: int = 80) -> str:
    """A text that neither controls a terminal nor fills it."""
    shown = printable(" ".join(text.split())) or "?"
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def few(names: tuple[str, ...] | list[str], *, most: int = 80) -> str:
    """Some of the names, and how many more there are."""
    shown = ", ".join(short(name, most) for name in names[:NAMED])
    more = len(names) - NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
