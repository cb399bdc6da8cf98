"""An explanation in HTML, as a page and as a section of a run's page: waterfalls from the step of
one framework to that of the other, and all tables.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.explain.summary import Difference
from mbench.explain.text import all_tables, ending, headline, notes, tables
from mbench.reports import html
from mbench.reports.grid import shown
from mbench.reports.html.parts import Bar, Figure, Section
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.explain.summary import Explanation, Interval, Pair, Row

__all__ = ["page", "section", "waterfalls"]

MARGIN = 4.0
"""Percent of the width that are left free at each end."""


def page(found: Explanation) -> str:
    """A page that needs neither scripts nor a network."""
    from markupsafe import Markup

    title, *answer = headline(found)
    grids = all_tables(found, most=None)
    style = Path(html.__file__).parent / "style.css"
    return html.template("page.html", folder=Path(__file__).parent).render(
        title=title,
        sentences=answer,
        falls=[figure for pair in found.differences for figure in waterfalls(pair)],
        grids=[replace(grid, rows=[[*map(shown, row)] for row in grid.rows]) for grid in grids],
        notes=ending(found),
        style=Markup(style.read_text(encoding="utf-8")),
        policy=html.policy([]),
    )


def section(found: Explanation) -> Section | None:
    """None where no two frameworks can be compared."""
    if not found.differences:
        return None
    figures: list[Figure] = []
    for pair in found.differences:
        figures += waterfalls(pair)
        figures += [Figure(table=grid, folded=True) for grid in tables(pair, most=None)]
    lead = " ".join(headline(found)[1:])
    return Section("breakdown", "Where the difference is found", lead, figures, [*notes(found)])


def waterfalls(found: Pair) -> list[Figure]:
    """By phase and by depth, where these were measured, and by kind of operator."""
    if not isinstance(found, Difference):
        return []
    parts = {
        "phase": found.phases,
        "depth": found.depth,
        "operator": [*found.kinds, found.empty, found.residual],
    }
    return [waterfall(found, name, rows) for name, rows in parts.items() if rows]


def waterfall(found: Difference, name: str, rows: Sequence[Row]) -> Figure:
    """The baseline's step, a bar for each part from where the one before ends, and the other's
    step, to which the last one leads.
    """
    starts, at = [], found.step.baseline_ms
    for row in rows:
        starts.append(at)
        at += row.difference_ms.value
    ends = [found.step.baseline_ms, found.step.other_ms]
    for row, start in zip(rows, starts, strict=True):
        d = row.difference_ms
        ends += [start + (end or 0.0) for end in (d.value, d.low, d.high)]
    least, most = min(ends), max(ends)

    def place(milliseconds: float) -> float:
        share = (milliseconds - least) / (most - least) if most > least else 0.5
        return round(MARGIN + (100 - 2 * MARGIN) * share, 3)

    def step(framework: str, milliseconds: float) -> Bar:
        text = f"{number(milliseconds, 4)} ms"
        return Bar(f"a step of {framework}", text, "total", place(milliseconds), 0.0)

    bars = [step(found.baseline, found.step.baseline_ms)]
    for row, start in zip(rows, starts, strict=True):
        difference = row.difference_ms
        begin, end = sorted((place(start), place(start + difference.value)))
        bars.append(
            Bar(
                row.name, text_of(difference), kind_of(difference), begin, round(end - begin, 3),
                low=None if difference.low is None else place(start + difference.low),
                high=None if difference.high is None else place(start + difference.high),
            )
        )  # fmt: skip
    bars.append(step(found.framework, found.step.other_ms))
    title = f"From a step of {found.baseline} to one of {found.framework}, by {name}"
    return Figure(title=title, bars=bars)


def text_of(difference: Interval) -> str:
    text = f"{difference.value:+.3g} ms"
    if difference.low is None:
        return text
    return f"{text} ({difference.low:+.3g} .. {difference.high:+.3g})"


def kind_of(difference: Interval) -> str:
    if not difference.shown:
        return "none"
    return "longer" if difference.value > 0 else "less"
