"""What the page is made of: articles of sections of figures, each with its table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.reports.grid import Grid
    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["LONG", "Article", "Bar", "Chart", "Chip", "Figure", "Section", "Stack", "Within",
           "captioned", "titled"]  # fmt: skip

# A table of more rows is folded under its chart.
LONG = 16
# A chart of more rows stands below the chips.
MOST_ABOVE = 8


@dataclass(frozen=True)
class Chart:
    """`data` is what charts.js draws, `alt` says what there is to see."""

    data: Mapping[str, object]
    alt: str
    title: str = ""


@dataclass(frozen=True)
class Bar:
    """A line of a waterfall. Places are percent of the width, from the left.

    `kind` is longer, less, none (its interval includes 0) or total, which has no width.
    """

    name: str
    text: str
    kind: str
    left: float
    width: float
    low: float | None = None
    high: float | None = None
    """Ends of the interval of the place where the bar ends."""


@dataclass(frozen=True)
class Stack:
    """A bar of parts that follow each other, each with its kind and its percent of the width."""

    name: str
    text: str
    parts: Sequence[tuple[str, float]]
    low: float | None = None
    high: float | None = None
    """Ends of the interval of the place where the last part ends."""


@dataclass(frozen=True)
class Figure:
    """Charts side by side and the table that says the same; either may be missing.

    A `folded` table is closed until the reader opens it, and so is a whole figure that is `shut`.
    `items` are short texts, set in columns; `bars` are the lines of a waterfall; `stacks` are bars
    of several parts, whose kinds `kinds` names.
    """

    table: Grid | None = None
    charts: Sequence[Chart] = ()
    items: Sequence[str] = ()
    bars: Sequence[Bar] = ()
    stacks: Sequence[Stack] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    folded: bool = False
    shut: bool = False


@dataclass(frozen=True)
class Section:
    """`about` are short facts, `code` the words of a command."""

    id: str
    title: str
    lead: str = ""
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()
    about: Sequence[str] = ()
    code: Sequence[str] = ()


@dataclass(frozen=True)
class Chip:
    """One thing to know before believing the answer; see `mbench.reports.states`."""

    level: str
    title: str
    text: str
    section: str
    """The id of the section that has the details; empty where there is none."""


@dataclass(frozen=True)
class Article:
    """One run, or the trends over all."""

    answer: Sequence[str]
    """The headline, a line for each framework where several were compared."""
    about: Sequence[str]
    """Lines on what was measured, and where."""
    gate: str = ""
    passed: bool = False
    """Whether the gate, if there is one, has passed."""
    sure: str = ""
    """The interval of the answer and the figures behind it."""
    chart: Chart | None = None
    """The chart that shows the answer."""
    caption: str = ""
    chips: Sequence[Chip] = ()
    sections: Sequence[Section] = field(default_factory=list)

    def charts(self) -> list[Chart]:
        """All charts, in the order in which the page shows them."""
        rest = [c for s in self.sections for figure in s.figures for c in figure.charts]
        return [self.chart, *rest] if self.chart else rest

    @property
    def tall(self) -> bool:
        """Whether the chart would push what stands below it off the first screen."""
        rows = self.chart.data.get("rows") if self.chart else None
        return isinstance(rows, list) and len(rows) > MOST_ABOVE


@dataclass(frozen=True)
class Within:
    """The site that a page is part of, and whose scripts it uses."""

    root: str
    """The way from the page to the site's folder: "" or "../"."""
    links: Sequence[tuple[str, str]] = ()
    """Texts and the pages that they lead to, from the site's folder."""
    wide: bool = False
    """Whether the page's tables have many columns."""


def titled(summary: Summary) -> Summary:
    """The summary with frameworks labelled as they write their own names."""
    known = {case.spec: case.framework for case in summary.cases}
    count = Counter(known.values())

    def spoken(case: CaseSummary) -> CaseSummary:
        title = called(case, alone=count[case.framework] == 1)
        for given in (case.spec.replace(":", "::"), case.framework):
            rest = case.label[len(given) :]
            if case.label.startswith(given) and rest[:1] in ("", ":", "#"):
                return replace(case, spec=title, label=title + rest)
        return replace(case, spec=title)  # the label is a name that the user gave

    cases = [*map(spoken, summary.cases)]
    new = {old.label: case.label for old, case in zip(summary.cases, cases, strict=True)}
    searches = [replace(one, label=new.get(one.label, one.label)) for one in summary.searches]
    return replace(summary, cases=cases, searches=searches)


def called(case: CaseSummary, *, alone: bool) -> str:
    """The title, with the version or Python that the user named; a path only to tell two apart."""
    if not case.spec.startswith(case.framework):
        return case.spec
    given = case.spec.removeprefix(case.framework)
    plain = alone and given.startswith("@")
    return case.framework_title + ("" if plain else given.replace("==", " ", 1))


def captioned(what: str, title: str) -> str:
    return f"{what}: {title}" if title else what
