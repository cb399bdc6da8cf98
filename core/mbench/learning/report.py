"""A training run in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.learning.text import grids, headline, notes
from mbench.reports import grid
from mbench.reports.formats import written
from mbench.reports.terminal import Sentences, paragraphs
from mbench.reports.text import escape

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from mbench.learning.analyse import LearningSummary
    from mbench.learning.record import Record

__all__ = ["FORMATS", "as_json"]


def table(found: LearningSummary, _: Record) -> RenderableType:
    """For a terminal: the answer, the tables, and how it was done."""
    shown = [one for one in grids(found) if one.rows]
    return paragraphs([Sentences(headline(found)), *shown, Sentences(notes(found))])


def markdown(found: LearningSummary, _: Record) -> str:
    shown = [one for one in grids(found) if one.rows]
    parts = [
        [f"**{escape(text)}**" for text in headline(found)],
        [grid.markdown(shown).rstrip()],
        [f"- {escape(text)}" for text in notes(found)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def as_json(found: LearningSummary) -> dict[str, Any]:
    """Plain data; what is infinite is null, and counted."""
    from dataclasses import asdict

    made: dict[str, Any] = plain({**asdict(found), "answer": headline(found)})
    return made


def plain(value: Any) -> Any:
    from math import isfinite

    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def json(found: LearningSummary, _: Record) -> str:
    return written(as_json(found))


def csv(found: LearningSummary, _: Record) -> str:
    return grid.as_csv([one for one in grids(found) if one.rows])


def html(found: LearningSummary, record: Record) -> str:
    from mbench.learning.page import page

    return page(found, record)


FORMATS: dict[str, Callable[[LearningSummary, Record], RenderableType]] = {
    "table": table, "markdown": markdown, "csv": csv, "json": json, "html": html,
}  # fmt: skip
