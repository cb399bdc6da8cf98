"""Reports as a screen shows them."""

from __future__ import annotations

from mbench.reports.terminal import Screen

__all__ = ["on_screen"]


def on_screen(report, width=None, *, colour=False):
    """The text of a report on a screen; without a `width`, no line is folded."""
    return Screen(width, colour).text(report)
