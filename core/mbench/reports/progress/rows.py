"""Rows at the end of a terminal that replace the old ones, even if its size has changed."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from rich.control import Control
from rich.live import Live
from rich.live_render import LiveRender
from rich.segment import Segment

if TYPE_CHECKING:
    from rich.console import (
        Console,
        ConsoleOptions,
        ConsoleRenderable,
        RenderableType,
        RenderResult,
    )

__all__ = ["Above"]


class Rows(LiveRender):
    """rich's `LiveRender` goes back over as many lines as it drew. A terminal that has become
    narrower shows some of these as several lines, and one that has become lower scrolls the first
    ones away until it grows again: here these are erased, too.
    """

    def __init__(self, renderable: RenderableType, *, console: Console) -> None:
        super().__init__(renderable, vertical_overflow="crop")
        self.console = console
        self.widths: list[int] = []
        """Widths, in cells, of the lines that were drawn last."""
        self.away: list[int] = []
        """Widths of the lines above them that were scrolled away."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.widths = [0]
        for part in super().__rich_console__(console, options):
            if isinstance(part, Segment):
                if part.text == "\n":
                    self.widths.append(0)
                else:
                    self.widths[-1] += part.cell_length
            yield part

    def position_cursor(self) -> Control:
        self.fit()
        return super().position_cursor()

    def restore_cursor(self) -> Control:
        self.fit()
        return super().restore_cursor()

    def fit(self) -> None:
        """Set the shape to the lines that what was drawn takes up at the present size."""
        if self._shape is None:
            return
        width, height = self.console.size
        drawn, shown = [*self.away, *self.widths], 0
        while drawn and shown < height:
            shown += max(1, ceil(drawn.pop() / max(1, width)))
        self.away = drawn  # of a line that is half away, the rest joins what is drawn next
        self._shape = (width, max(1, min(shown, height)))


class Above(Live):
    """rich's `Live`, which prints all other output above the rows."""

    def __init__(self, console: Console) -> None:
        super().__init__(console=console, auto_refresh=False, transient=True,
                         vertical_overflow="crop")  # fmt: skip
        self.rows = Rows(self.get_renderable(), console=console)
        self._live_render = self.rows  # `Live` does not take one as an argument

    def stop(self) -> None:
        if self.is_started:
            self.update("", refresh=True)  # else all last rows are drawn once more, however many
        super().stop()

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        made = super().process_renderables(renderables)
        if any(not isinstance(one, Control) for one in renderables):
            self.rows.away = []  # something else now stands above
        return made
