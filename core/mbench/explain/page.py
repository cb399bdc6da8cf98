"""An explanation in HTML, as a page and as a section of a run's page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.explain.summary import Difference
from mbench.explain.tables import all_tables, tables
from mbench.explain.text import answer, by_phase, headline, named_run, notes, where
from mbench.explain.waterfall import waterfalls
from mbench.reports import html
from mbench.reports.grid import shown
from mbench.reports.html.parts import Chip, Figure, Section

if TYPE_CHECKING:
    from mbench.explain.summary import Explanation

__all__ = ["page", "section"]


def page(found: Explanation) -> str:
    """A page that needs neither scripts nor a network."""
    from markupsafe import Markup

    pairs = [answer(pair) for pair in found.differences]
    one = len(pairs) == 1
    title = "; ".join(says for says, _ in pairs) or found.comparison
    if one:
        title += where(found.differences[0])
    grids = all_tables(found, most=None)
    known = found.context.states if found.context else ()
    style = Path(html.__file__).parent / "style.css"
    return html.template("page.html", folder=Path(__file__).parent).render(
        title=title,
        sure=pairs[0][1] if one else "",
        sentences=[
            *([] if one else headline(found)[:-1]),
            *(said for pair in found.differences for said in by_phase(pair) if one),
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
    """The section; None if no two frameworks can be compared."""
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
