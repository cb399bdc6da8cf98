"""An explanation in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.explain.text import all_tables, ending, headline, notes
from mbench.reports import grid as grids
from mbench.reports.formats import written
from mbench.reports.terminal import Sentences, paragraphs

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from mbench.explain.summary import Explanation

__all__ = ["FORMATS"]


def table(found: Explanation) -> RenderableType:
    return paragraphs([Sentences(headline(found)), *all_tables(found), Sentences(ending(found))])


def markdown(found: Explanation) -> str:
    made = all_tables(found)
    said = "\n".join(f"- {text}" for text in headline(found))
    rest = "\n".join(f"- {text}" for text in notes(found))
    return "\n\n".join([said, *([grids.markdown(made).rstrip()] if made else []), rest]) + "\n"


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
