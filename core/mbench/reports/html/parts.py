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

__all__ = ["LONG", "Article", "Badge", "Bar", "Chart", "Figure", "Section", "captioned",
           "titled"]  # fmt: skip

# A table of more rows is folded under its chart.
LONG = 16


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
class Figure:
    """Charts side by side and the table that says the same; either may be lacking.

    A `folded` table is closed until it is asked for, and so is a whole figure that is `shut`.
    `items` are short texts, set in columns, `bars` the lines of a waterfall.
    """

    table: Grid | None = None
    charts: Sequence[Chart] = ()
    items: Sequence[str] = ()
    bars: Sequence[Bar] = ()
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
class Badge:
    """One verdict of the headline: what it is about, what it says, and how sure it is.

    `kind` is faster, slower, none (no difference shown) or open (not compared).
    """

    about: str
    text: str
    details: Sequence[str]
    proof: str
    proven: bool
    kind: str


@dataclass(frozen=True)
class Article:
    """One run, or the trends over all; `proof` is the id of the section that tells the proofs."""

    title: str
    about: Sequence[str]
    badges: Sequence[Badge] = ()
    warnings: Sequence[str] = ()
    sections: Sequence[Section] = field(default_factory=list)
    proof: str = ""


def titled(summary: Summary) -> Summary:
    """The summary with frameworks labelled as they write their own names."""
    known = {case.spec: case.framework for case in summary.cases}
    count = Counter(known.values())

    def spoken(case: CaseSummary) -> CaseSummary:
        spec = called(case, alone=count[case.framework] == 1)
        return replace(case, spec=spec, label=spec + case.label.removeprefix(case.spec))

    cases = [*map(spoken, summary.cases)]
    new = {old.label: case.label for old, case in zip(summary.cases, cases, strict=True)}
    searches = [replace(one, label=new.get(one.label, one.label)) for one in summary.searches]
    return replace(summary, cases=cases, searches=searches)


def called(case: CaseSummary, *, alone: bool) -> str:
    """With its version or Python where the user named one; a path only where it tells two apart."""
    if not case.spec.startswith(case.framework):
        return case.spec
    given = case.spec.removeprefix(case.framework)
    plain = alone and given.startswith("@")
    return case.framework_title + ("" if plain else given.replace("==", " ", 1))


def captioned(what: str, title: str) -> str:
    return f"{what}: {title}" if title else what
