"""Progress in a notebook: one output of the cell, which is replaced at each change."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mbench.progress.live import Display, LiveProgress

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["CellProgress", "in_notebook"]

WIDTH = 100
PLAIN = "<pre style='line-height: normal; font-family: monospace'>{code}</pre>"


def in_notebook() -> bool:
    """Whether what is displayed is shown by a notebook."""
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter


class Cell:
    """The place of progress in a notebook, by the calls of rich's `Live`."""

    def __init__(self) -> None:
        self.show: Any = import_module("IPython.display")

    def start(self) -> None:
        self.handle = self.show.display(self.show.HTML(""), display_id=True)

    def update(self, renderable: RenderableType, *, refresh: bool) -> None:
        from rich.console import Console

        console = Console(record=True, width=WIDTH, file=io.StringIO(), force_jupyter=False)
        console.print(renderable)
        html = console.export_html(inline_styles=True, code_format=PLAIN)
        self.handle.update(self.show.HTML(html))

    def stop(self) -> None:
        self.handle.update(self.show.HTML(""))


class CellProgress(LiveProgress):
    """The rows of a terminal, in the cell that measures."""

    def opened(self) -> Display:
        return Cell()
