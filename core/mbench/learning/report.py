"""A training run in each format, and in NVIDIA's tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from mbench.errors import UsageError
from mbench.learning.conduct import summary_of
from mbench.learning.nvidia import tables
from mbench.learning.record import record_of
from mbench.learning.text import grids, headline, notes
from mbench.plugins.manager import nearest
from mbench.reports import grid
from mbench.reports.formats import written
from mbench.reports.terminal import Sentences, paragraphs
from mbench.reports.text import escape
from mbench.results.summary import summarize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import RenderableType

    from mbench.learning.analyse import LearningSummary
    from mbench.learning.record import Record
    from mbench.plugins.manager import Plugins
    from mbench.results.records import Run
    from mbench.results.summary import Summary

    Report = Callable[["Trained"], RenderableType]

__all__ = ["FORMATS", "LAYOUTS", "Trained", "as_json", "report", "trained"]

ABOUT = ("schema", "status", "mbench", "command", "started", "resumed", "finished", "system",
         "checks", "other_mbench", "absences")  # fmt: skip
"""What a document says about the run, as in a comparison's document."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A training run to be reported."""

    found: LearningSummary
    record: Record
    about: Summary | None = None
    """Who made the run, when, and on what machine; None for an invented run."""


def trained(run: Run, plugins: Plugins) -> Trained:
    """Raises MbenchError for a run that is not a training run."""
    record = record_of(run)
    return Trained(found=summary_of(record, plugins), record=record, about=summarize(run))


def report(format_: str, layout: str | None = None) -> Report:
    """Raises UsageError for a format or layout that training runs do not have."""
    if layout is not None and layout not in LAYOUTS:
        raise UsageError(f"training runs have no layout {layout!r}{nearest(layout, LAYOUTS)}",
                         option="--layout")  # fmt: skip
    known = FORMATS if layout is None else LAYOUTS[layout]
    if format_ not in known:
        raise UsageError(
            f"training runs have no format {format_!r}; available: {', '.join(known)}",
            option="--format",
        )
    return known[format_]


def table(made: Trained) -> RenderableType:
    """For a terminal: the answer, the tables, and how the run was made."""
    shown = [one for one in grids(made.found) if one.rows]
    return paragraphs([Sentences(headline(made.found)), *shown, Sentences(notes(made.found))])


def markdown(made: Trained) -> str:
    shown = [one for one in grids(made.found) if one.rows]
    parts = [
        [f"**{escape(text)}**" for text in headline(made.found)],
        [grid.markdown(shown).rstrip()],
        [f"- {escape(text)}" for text in notes(made.found)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def as_json(made: Trained) -> dict[str, Any]:
    """Plain data; infinite values are null, and counted."""
    from dataclasses import asdict

    found: dict[str, Any] = {**asdict(made.found), "answer": headline(made.found)}
    if made.about is not None:
        whole: Any = made.about.to_json()
        environments = [case["environment"] for case in whole["cases"]]
        found |= {name: whole[name] for name in ABOUT} | {"environments": environments}
    document: dict[str, Any] = plain(found)
    return document


def plain(value: Any) -> Any:
    from math import isfinite

    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def json(made: Trained) -> str:
    return written(as_json(made))


def csv(made: Trained) -> str:
    return grid.as_csv([one for one in grids(made.found) if one.rows])


def html(made: Trained) -> str:
    from mbench.learning.page import page

    return page(made.found, made.record, made.about)


FORMATS: dict[str, Report] = {
    "table": table, "markdown": markdown, "csv": csv, "json": json, "html": html,
}  # fmt: skip


def nvidia(made: Trained, *, format_: str) -> RenderableType:
    """Tables as in NVIDIA's DeepLearningExamples."""
    return grid.write(tables(made.found), format_=format_)


def nvidia_page(made: Trained) -> str:
    from mbench.learning.page import page

    return page(made.found, made.record, made.about, tables=tables(made.found))


LAYOUTS: Mapping[str, Mapping[str, Report]] = {
    "nvidia": {
        **{name: partial(nvidia, format_=name) for name in ("table", "markdown", "csv", "json")},
        "html": nvidia_page,
    },
}
