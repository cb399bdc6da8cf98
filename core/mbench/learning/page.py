"""A training run as one HTML page: the answer, the curves with the envelope, and the tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract.precision import PRECISIONS
from mbench.learning.analyse import seeds_of
from mbench.learning.judge import FLOOR_UNITS, OFF, TIMES, envelope
from mbench.learning.task import ACCURACY
from mbench.learning.text import grids, headline, notes, target
from mbench.reports import html
from mbench.reports.grid import shown
from mbench.reports.html.facts import places, reproduce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.learning.analyse import LearningSummary
    from mbench.learning.record import Record
    from mbench.reports.grid import Grid
    from mbench.results.summary import Summary

__all__ = ["page"]

COLOURS = ("#3987e5", "#d95926", "#199e70", "#c98500", "#d55181", "#9085e9", "#008300", "#e66767")
WIDTH, HEIGHT, LEFT, BOTTOM = 640, 280, 56, 34
MOST_POINTS = 300


@dataclass(frozen=True)
class Line:
    points: str
    colour: str
    name: str
    dashed: bool = False


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Plot:
    """Curves in a box of WIDTH x HEIGHT."""

    title: str
    alt: str
    lines: Sequence[Line]
    names: Sequence[tuple[str, str]]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    x_name: str
    level: float | None = None


def page(
    found: LearningSummary, record: Record, about: Summary | None = None, *,
    tables: Sequence[Grid] = (),
) -> str:  # fmt: skip
    """A page that needs neither scripts nor a network; `tables` replace its own if given.

    `about` says who made the run, when, and on what machine.
    """
    from markupsafe import Markup

    style = Path(html.__file__).parent / "style.css"
    shown_grids = [one for one in tables or grids(found) if one.rows]
    sections = [] if about is None else [places(about), reproduce(about)]
    return html.template("page.html", folder=Path(__file__).parent).render(
        title="; ".join(headline(found)),
        about=[found.title, found.machine],
        plots=[plot for plot in (reached(found, record), trained(found, record),
                                 departures(found, record)) if plot],
        grids=[*map(readable, shown_grids)],
        sections=[
            replace(one, figures=[
                replace(figure, table=readable(figure.table)) if figure.table else figure
                for figure in one.figures
            ])
            for one in sections
        ],
        notes=notes(found),
        width=WIDTH, height=HEIGHT, left=LEFT, bottom=BOTTOM,
        style=Markup(style.read_text(encoding="utf-8")),
        policy=html.policy([]),
    )  # fmt: skip


def readable(grid: Grid) -> Grid:
    return replace(grid, rows=[[*map(shown, row)] for row in grid.rows])


def reached(found: LearningSummary, record: Record) -> Plot | None:
    """The target's metric after each evaluation, one curve per seed."""
    rises = found.metric == ACCURACY
    curves = []
    for arm, colour in coloured(found):
        for run in seeds_of(record, arm):
            pairs = [(e.step, e.accuracy if rises else e.loss) for e in run.evaluations]
            curves.append(([(x, y) for x, y in pairs if y is not None], colour, arm, False))
    title = f"{found.metric} on held-out data, one curve per seed; dotted: {target(found)}"
    return plot(title, "steps", curves, level=found.target)


def trained(found: LearningSummary, record: Record) -> Plot | None:
    """The loss of every step, averaged over neighbours."""
    curves = []
    for arm, colour in coloured(found):
        for run in seeds_of(record, arm):
            width = max(1, len(run.losses) // 60)
            points = []
            for first in range(0, len(run.losses) - width + 1, width):
                part = [x for x in run.losses[first : first + width] if x is not None]
                if part:
                    points.append((first + width / 2, sum(part) / len(part)))
            curves.append((points, colour, arm, False))
    return plot("loss of training steps, one curve per seed", "steps", curves)


def departures(found: LearningSummary, record: Record) -> Plot | None:
    """How far the first losses are from those in float64, and the bound set by rounding."""
    reference = record.answers.get(found.path_reference)
    right = reference.path if reference else []
    own = [envelope(record.paths, right, arm) for arm, _ in coloured(found)]
    wide = [max(widths) for widths in zip_longest(*own, fillvalue=0.0)]
    curves, bound = [], []
    for arm, colour in coloured(found):
        path = record.paths.get(arm)
        points = []
        for step, (loss, known) in enumerate(zip(path.losses if path else [], right, strict=False)):
            if loss is not None and known:
                points.append((step + 1, math.log10(max(abs(loss - known) / abs(known), 1e-9))))
        curves.append((points, colour, arm, False))
    unit = max(PRECISIONS[arm.precision].unit for arm in record.arms)
    for step, (width, known) in enumerate(zip(wide, right, strict=False)):
        if known and TIMES * width <= OFF * abs(known):
            share = (TIMES * width + FLOOR_UNITS * unit * abs(known)) / abs(known)
            bound.append((step + 1, math.log10(max(share, 1e-9))))
    curves.append((bound, "currentColor", "envelope", True))
    title = "first steps: relative distance of losses from float64, as powers of ten"
    return plot(title, "steps", curves)


def coloured(found: LearningSummary) -> list[tuple[str, str]]:
    return [(arm.label, COLOURS[at % len(COLOURS)]) for at, arm in enumerate(found.arms)]


def plot(
    title: str, x_name: str,
    curves: Sequence[tuple[Sequence[tuple[float, float]], str, str, bool]],
    *, level: float | None = None,
) -> Plot | None:  # fmt: skip
    """Curves as (points, colour, name, dashed); None if there is nothing to draw."""
    points = [point for curve, *_ in curves for point in curve]
    if not points:
        return None
    right = max(x for x, _ in points)
    ys = [y for _, y in points] + ([] if level is None else [level])
    low, high = min(ys), max(ys)
    high = high if high > low else low + 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (WIDTH - LEFT - 8) * x / right
        return round(across, 1), round((HEIGHT - BOTTOM) * (1 - (y - low) / (high - low)) + 4, 1)

    lines = []
    for curve, colour, name, dashed in curves:
        step = max(1, len(curve) // MOST_POINTS)
        text = " ".join("{},{}".format(*place(x, y)) for x, y in curve[::step])
        lines.append(Line(text, colour, name, dashed))
    names = dict.fromkeys((line.name, line.colour) for line in lines if line.points)
    return Plot(
        title=title, lines=lines, names=list(names),
        alt=f"{title}: {', '.join(name for name, _ in names)}",
        x_ticks=[Tick(place(right * at / 4, low)[0], f"{right * at / 4:.0f}") for at in range(5)],
        y_ticks=[
            Tick(place(0, y)[1], f"{y:.3g}") for y in (low + (high - low) * n / 4 for n in range(5))
        ],
        x_name=x_name, level=None if level is None else place(0, level)[1],
    )  # fmt: skip
