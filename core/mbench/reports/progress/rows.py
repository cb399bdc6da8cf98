"""Rows at the end of a terminal that replace those before, though its size changes meanwhile."""

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
    """rich's, which goes back over as many lines as it drew. A terminal that has become narrower
    shows some of these as several, and a lower one scrolls the first ones away, which come back
    when it grows: those are erased, too.
    """

    def __init__(self, renderable: RenderableType, *, console: Console) -> None:
        super().__init__(renderable, vertical_overflow="crop")
        self.console = console
        self.widths: list[int] = []
        """In cells, of the lines that were drawn last."""
        self.away: list[int] = []
        """The same of lines above them that were scrolled away."""

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
        """Count what was drawn as the lines that it is by now."""
        if self._shape is None:
            return
        width, height = self.console.size
        drawn, shown = [*self.away, *self.widths], 0
        while drawn and shown < height:
            shown += max(1, ceil(drawn.pop() / max(1, width)))
        self.away = drawn  # of a line that is half away, the rest joins what is drawn next
        self._shape = (width, max(1, min(shown, height)))


class Above(Live):
    """rich's display, which prints above the rows what else is printed."""

    def __init__(self, console: Console) -> None:
        super().__init__(console=console, auto_refresh=False, transient=True,
                         vertical_overflow="crop")  # fmt: skip
        self.rows = Rows(self.get_renderable(), console=console)
        self._live_render = self.rows  # it takes none

    def stop(self) -> None:
        if self.is_started:
            self.update("", refresh=True)  # the last rows are drawn once more, however many
        super().stop()

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        made = super().process_renderables(renderables)
        if any(not isinstance(one, Control) for one in renderables):
            self.rows.away = []  # something else now stands above
        return made
