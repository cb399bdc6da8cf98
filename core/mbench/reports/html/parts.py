"""What the page is made of: articles of sections of figures, each with its table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mbench.contract.axes import name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mbench.reports.grid import Grid

__all__ = ["LONG", "Article", "Badge", "Figure", "Section", "named", "title_of"]


# A table of more rows is folded under its chart.
LONG = 16


@dataclass(frozen=True)
class Figure:
    """A chart and the table that says the same; either may be lacking.

    `chart` is what charts.js draws, `alt` says what there is to see. A `folded` table is closed
    until it is asked for, and so is a whole figure that is `shut`.
    """

    table: Grid | None = None
    chart: dict[str, Any] | None = None
    alt: str = ""
    title: str = ""
    folded: bool = False
    shut: bool = False


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    lead: str = ""
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()
    code: str = ""


@dataclass(frozen=True)
class Badge:
    """One verdict of the headline: what it is about, what it says, and how sure it is.

    `kind` is faster, slower, none (no difference shown) or open (not compared).
    """

    about: str
    text: str
    detail: str
    proof: str
    proven: bool
    kind: str


@dataclass(frozen=True)
class Article:
    """One run, or the trends over all."""

    title: str
    about: str
    badges: Sequence[Badge] = ()
    warnings: Sequence[str] = ()
    sections: Sequence[Section] = field(default_factory=list)


def title_of(case: dict[str, Any]) -> str:
    """A framework as it writes its own name, unless the user named a version or a Python."""
    return str(case["framework_title"] if case["label"] == case["framework"] else case["label"])


def named(case: dict[str, Any], *, less: Collection[str] = ()) -> str:
    """A case in words, marked where its model is not of its published size."""
    marked = "sizes" not in less and not case["standard"]
    return name(case, less=less) + (" (non-standard size)" if marked else "")
