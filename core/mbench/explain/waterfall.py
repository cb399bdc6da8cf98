"""Waterfalls: from one framework's step to the other's, with a bar for each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from mbench.explain.summary import Difference
from mbench.reports.html.parts import Bar, Figure
from mbench.reports.terminal import GAP
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

    from mbench.explain.summary import Explanation, Interval, Pair, Row

__all__ = ["Drawn", "as_text", "first_falls", "waterfalls"]

MARGIN = 4.0
"""Percent of the width that is left free at each end."""
COLUMNS, FEWEST_COLUMNS = 40, 12
"""The most and the fewest columns of a bar's track in text."""
MARKS = {"longer": "+", "less": "-", "none": "o", "total": "#"}
"""The characters that bars are drawn with, by kind."""


def waterfalls(found: Pair) -> list[Figure]:
    """Waterfalls by phase, by stage and by kind of operator, where parts add up to the step."""
    if not isinstance(found, Difference):
        return []
    parts = [
        ("phase", found.phases, found.phase_step, True),
        ("stage", found.depth, found.stage_step, found.rest is not None),
        ("operator", [*found.kinds, *found.singly], found.operator_step,
         found.residual is not None),
    ]  # fmt: skip
    return [
        waterfall(found, name, rows, whole)
        for name, rows, whole, add_up in parts
        if rows and whole and add_up
    ]


def waterfall(found: Difference, name: str, rows: Sequence[Row], whole: Row) -> Figure:
    """The baseline's step, a bar for each part that starts where the one before ends, and the other
    framework's step, where the last bar ends.
    """
    starts, at = [], whole.baseline_ms
    for row in rows:
        starts.append(at)
        at += row.difference_ms.value
    ends = [whole.baseline_ms, whole.other_ms]
    for row, start in zip(rows, starts, strict=True):
        d = row.difference_ms
        ends += [start + end for end in (d.value, d.low, d.high)]
    least, most = min(ends), max(ends)

    def place(milliseconds: float) -> float:
        share = (milliseconds - least) / (most - least) if most > least else 0.5
        return round(MARGIN + (100 - 2 * MARGIN) * share, 3)

    def step(framework: str, milliseconds: float) -> Bar:
        text = f"{number(milliseconds, 4)} ms"
        return Bar(f"a step of {framework}", text, "total", place(milliseconds), 0.0)

    bars = [step(found.baseline, whole.baseline_ms)]
    for row, start in zip(rows, starts, strict=True):
        difference = row.difference_ms
        begin, end = sorted((place(start), place(start + difference.value)))
        bars.append(
            Bar(
                row.name, text_of(difference), kind_of(difference), begin, round(end - begin, 3),
                low=place(start + difference.low),
                high=place(start + difference.high),
            )
        )  # fmt: skip
    bars.append(step(found.framework, whole.other_ms))
    title = f"From a step of {found.baseline} to one of {found.framework}, by {name} (ms)"
    return Figure(title=title, bars=bars)


def text_of(difference: Interval) -> str:
    return f"{difference.value:+.3g} ms ({difference.low:+.3g} .. {difference.high:+.3g})"


def kind_of(difference: Interval) -> str:
    if not difference.shown:
        return "none"
    return "longer" if difference.value > 0 else "less"


def first_falls(found: Explanation) -> list[Figure]:
    """For each pair its most informative waterfall: by stage, else by operator, else by phase."""
    chosen = []
    for pair in found.differences:
        if isinstance(pair, Difference):
            by_level = {fall.title.rpartition("by ")[2]: fall for fall in waterfalls(pair)}
            falls = [by_level.get(f"{level} (ms)") for level in ("stage", "operator", "phase")]
            chosen += [fall for fall in falls if fall][:1]
    return chosen


class Drawn:
    """A waterfall in text, as wide as there is room for."""

    def __init__(self, fall: Figure) -> None:
        self.fall = fall

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield from map(Text, as_text(self.fall, width=options.max_width))


def as_text(fall: Figure, *, width: int) -> Iterator[str]:
    """Its title, and a line for each bar: name, track, figures."""
    names = max(cell_len(bar.name) for bar in fall.bars)
    texts = max(cell_len(bar.text) for bar in fall.bars)
    columns = min(COLUMNS, width - names - texts - 2 * GAP)
    yield f"{fall.title}: + adds time, - saves time, o not shown to differ, . 95 % interval"
    for bar in fall.bars:
        name = bar.name + " " * (names - cell_len(bar.name))
        drawn = [track(bar, columns)] if columns >= FEWEST_COLUMNS else []
        yield (" " * GAP).join([name, *drawn, bar.text])


def track(bar: Bar, columns: int) -> str:
    """The bar and its interval, in `columns` columns."""

    def place(percent: float) -> int:
        return min(columns - 1, max(0, int(percent / 100 * columns)))

    cells = [" "] * columns
    if bar.low is not None and bar.high is not None:
        cells[place(bar.low) : place(bar.high) + 1] = "." * (place(bar.high) - place(bar.low) + 1)
    begin, end = place(bar.left), place(bar.left + bar.width)
    cells[begin : end + 1] = MARKS[bar.kind] * (end - begin + 1)
    return "".join(cells)
