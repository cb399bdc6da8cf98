"""Reports as they stand on a screen."""

from __future__ import annotations

from mbench.reports.terminal import Screen

__all__ = ["on_screen"]


def on_screen(report, width=None, *, colour=False):
    """The text of a report, as wide as it likes unless a width is given."""
    return Screen(width, colour).text(report)
