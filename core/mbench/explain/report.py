"""An explanation in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.explain.tables import all_tables
from mbench.explain.text import ending, headline, notes
from mbench.explain.waterfall import Drawn, as_text, first_falls
from mbench.reports import grid as grids
from mbench.reports.formats import written
from mbench.reports.overview import StateTable
from mbench.reports.terminal import Sentences, paragraphs
from mbench.reports.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from mbench.explain.summary import Explanation

__all__ = ["FORMATS"]

WIDE = 200
"""Columns of a waterfall when nothing limits its width."""


def table(found: Explanation) -> RenderableType:
    """For a terminal: the answer, a waterfall, a table for each level, whether to trust it, and
    where it was measured.
    """
    known = found.context.states if found.context else ()
    return paragraphs([
        Sentences(headline(found)),
        *map(Drawn, first_falls(found)),
        *all_tables(found),
        Sentences([*notes(found)]),
        StateTable(known) if known else None,
        Sentences(ending(found)),
    ])  # fmt: skip


def markdown(found: Explanation) -> str:
    made = all_tables(found)
    answer, *rest = headline(found)
    known = found.context.states if found.context else ()
    parts = [
        [f"**{escape(answer)}**"],
        [f"- {escape(text)}" for text in rest],
        *(["```text", *as_text(fall, width=WIDE), "```"] for fall in first_falls(found)),
        [grids.markdown(made).rstrip()] if made else [],
        [f"- {escape(f'{one.level}: {one.title}: {one.text}')}" for one in known],
        [f"- {escape(text)}" for text in (*notes(found), *ending(found))],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def as_csv(found: Explanation) -> str:
    return grids.as_csv(all_tables(found, most=None, whole=True))


def as_json(found: Explanation) -> str:
    return written(found.to_json())


def html(found: Explanation) -> str:
    from mbench.explain.page import page

    return page(found)


FORMATS: dict[str, Callable[[Explanation], RenderableType]] = {
    "table": table, "markdown": markdown, "csv": as_csv, "json": as_json, "html": html
}  # fmt: skip
