"""The page of `mbench explain`: waterfalls from one framework's step to the other's, and tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.reports.along import phases, stages
from mbench.reports.grid import shown
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.reports.grid import Grid

__all__ = ["Bar", "Fall", "fall", "falls", "render"]

Document = dict[str, Any]
MARGIN = 4.0
"""Percent of the width that are left free at each end."""


@dataclass(frozen=True)
class Bar:
    """A line of a waterfall. Places are percent of the width, from the left.

    `kind` is longer, less, none (its interval holds 0) or total, which is a step and has no width.
    """

    name: str
    text: str
    kind: str
    left: float
    width: float
    low: float | None = None
    high: float | None = None
    """Ends of the interval of where the bar leads to."""


@dataclass(frozen=True)
class Fall:
    title: str
    bars: Sequence[Bar]


def falls(found: Document) -> list[Fall]:
    """By phase and by depth, where there are such, and by kind of operator."""
    if not found["sets"]:
        return []
    who = f"From a step of {found['baseline']} to one of {found['framework']}"
    by_kind = [
        *((one["kind"], one) for one in found["kinds"]),
        ("an empty step", found["empty"]),
        ("no operator by itself", found["residual"]),
    ]
    parts = {"phase": phases(found), "depth": stages(found), "operator": by_kind}
    return [fall(f"{who}, by {name}", found, rows) for name, rows in parts.items() if rows]


def fall(title: str, found: Document, parts: Iterable[tuple[str, Document]]) -> Fall:
    """The baseline's step, one bar for each part from where the one before led to, and the
    other's step, to which the last one leads.
    """
    lines, at = [], found["baseline_ms"]
    for name, part in parts:
        lines.append((name, part["difference_ms"], at))
        at += part["difference_ms"]["value"]
    ends = [found["baseline_ms"], found["other_ms"]]
    for _, value, start in lines:
        ends += [start + (value[key] or 0.0) for key in ("value", "low", "high")]
    least, most = min(ends), max(ends)

    def place(milliseconds: float) -> float:
        share = (milliseconds - least) / (most - least) if most > least else 0.5
        return round(MARGIN + (100 - 2 * MARGIN) * share, 3)

    def step(name: str, milliseconds: float) -> Bar:
        said = f"{number(milliseconds, 4)} ms"
        return Bar(f"a step of {name}", said, "total", place(milliseconds), 0.0)

    bars = [step(found["baseline"], found["baseline_ms"])]
    for name, value, start in lines:
        begin, end = sorted((place(start), place(start + value["value"])))
        known = value["low"] is not None
        bars.append(
            Bar(
                name, said_of(value), kind_of(value), begin, round(end - begin, 3),
                low=place(start + value["low"]) if known else None,
                high=place(start + value["high"]) if known else None,
            )
        )  # fmt: skip
    return Fall(title, [*bars, step(found["framework"], found["other_ms"])])


def said_of(value: Document) -> str:
    said = f"{value['value']:+.3g} ms"
    if value["low"] is None:
        return said
    return f"{said} ({value['low']:+.3g} .. {value['high']:+.3g})"


def kind_of(value: Document) -> str:
    if not value["shown"]:
        return "none"
    return "longer" if value["value"] > 0 else "less"


def render(
    document: Document, *, headline: Sequence[str], grids: Sequence[Grid], notes: Sequence[str]
) -> str:
    """The page, of text as other formats have it, which needs no script."""
    from markupsafe import Markup

    from mbench.reports.html import policy, template

    style = Path(__file__).parent / "style.css"
    return template("waterfall.html").render(
        title=headline[0],
        sentences=headline[1:],
        falls=[one for found in document["differences"] for one in falls(found)],
        grids=[replace(grid, rows=[[*map(shown, row)] for row in grid.rows]) for grid in grids],
        notes=notes,
        style=Markup(style.read_text(encoding="utf-8")),
        policy=policy([]),
    )
