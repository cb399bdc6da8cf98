"""An explanation in HTML, as a page and as a section of a run's page: waterfalls from the step of
one framework to that of the other, and all tables.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.explain.summary import Difference
from mbench.explain.tables import all_tables, tables
from mbench.explain.text import answer, headline, levels, named_run, notes
from mbench.reports import html
from mbench.reports.grid import shown
from mbench.reports.html.parts import Bar, Chip, Figure, Section
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

    pairs = [answer(pair) for pair in found.differences]
    one = len(pairs) == 1
    title = "; ".join(says for says, _ in pairs) or found.comparison
    grids = all_tables(found, most=None)
    known = found.context.states if found.context else ()
    style = Path(html.__file__).parent / "style.css"
    return html.template("page.html", folder=Path(__file__).parent).render(
        title=title,
        sure=pairs[0][1] if one else "",
        sentences=[
            *([] if one else [f"{says}: {sure}" for says, sure in pairs]),
            *(said for pair in found.differences for said in levels(pair)),
        ],
        about=[found.comparison] if pairs else [],
        falls=[figure for pair in found.differences for figure in waterfalls(pair)],
        grids=[replace(grid, rows=[[*map(shown, row)] for row in grid.rows]) for grid in grids],
        states=[Chip(one.level, one.title, str(one.text), section="") for one in known],
        notes=[*notes(found)],
        facts=[*(found.context.facts if found.context else ()), named_run(found)],
        style=Markup(style.read_text(encoding="utf-8")),
        policy=html.policy([]),
    )


def section(found: Explanation) -> Section | None:
    """None where no two frameworks can be compared."""
    if not found.differences:
        return None
    pairs = [pair for pair in found.differences if isinstance(pair, Difference)]
    figures = [figure for pair in pairs for figure in waterfalls(pair)]
    figures += [Figure(table=grid, folded=True) for grid in tables(pairs, most=None)]
    lead = ". ".join(headline(found)) + "."
    known = found.context.states if found.context else ()
    said = [f"{one.level}: {one.title}: {one.text}" for one in known]
    facts = found.context.facts if found.context else []
    return Section("breakdown", "Where the difference is found", lead, figures,
                   [*said, *notes(found), *facts])  # fmt: skip


def waterfalls(found: Pair) -> list[Figure]:
    """By phase, by stage and by kind of operator, where parts add up to the step."""
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
    """The baseline's step, a bar for each part from where the one before ends, and the other's
    step, to which the last one leads.
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
