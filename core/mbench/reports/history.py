"""A metric over all stored runs as text: one table for each line of a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract.axes import AXES, name
from mbench.contract.metric import THROUGHPUT
from mbench.errors import MbenchError
from mbench.reports.formats import written
from mbench.reports.grid import Cell, Grid, write
from mbench.reports.text import interval, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from mbench.results.history import History, Point

__all__ = ["FORMATS", "change", "lines"]


def columns_of(history: History) -> tuple[str, ...]:
    return ("run", "version", history.metric.title, "95 % interval", "change", "verdict")


def change(point: Point) -> str:
    """The change from the point before, in percent; empty for the first of a line."""
    return f"{100 * (point.change.ratio - 1):+.1f} %" if point.change else ""


def row(point: Point) -> list[Cell]:
    speed = point.figure
    return [
        point.run,
        point.shown_version,
        f"{number(speed.value)} {speed.unit}",
        interval(speed.low, speed.high),
        change(point),
        point.change.verdict if point.change else "",
    ]


def lines(history: History) -> dict[str, list[Point]]:
    """The points of each line, oldest first, by its name.

    Protocols and machines are named where there are several.
    """
    found: dict[str, list[Point]] = {}
    protocols = len({point.protocol for point in history.points}) > 1
    machines = len({point.cpu for point in history.points}) > 1
    for point in history.points:
        words = [name(point.axes), *[point.protocol] * protocols, *[point.cpu] * machines]
        found.setdefault(f"{point.label}: {', '.join(words)}", []).append(point)
    return found


def grids(history: History) -> list[Grid]:
    if not history.points:
        raise MbenchError("no run has a matching case; see mbench list runs")
    columns = columns_of(history)
    return [Grid(title, columns, [*map(row, points)]) for title, points in lines(history).items()]


def csv_grid(history: History) -> list[Grid]:
    """Plain numbers, a column for each."""
    flat: list[dict[str, Cell]] = []
    metric = history.metric.name
    value = "samples_per_second" if metric == THROUGHPUT.name else metric
    for point in history.points:
        speed, changed = point.figure, point.change
        flat.append({
            "run": point.run, "started": point.started, "protocol": point.protocol,
            "host": point.host, "cpu": point.cpu, "label": point.label,
            "framework": point.framework, "version": point.version,
            **{axis.name: axis.value(point.axes) for axis in AXES},
            value: speed.value,
            f"{value}_low": speed.low,
            f"{value}_high": speed.high,
            "change_ratio": changed.ratio if changed else None,
            "change_low": changed.low if changed else None,
            "change_high": changed.high if changed else None,
            "verdict": changed.verdict if changed else None,
            "other_files": changed.other_files if changed else None,
        })  # fmt: skip
    columns = tuple(flat[0]) if flat else columns_of(history)
    return [Grid("history", columns, [list(entry.values()) for entry in flat])]


FORMATS: dict[str, Callable[[History], RenderableType]] = {
    "table": lambda history: write(grids(history), format_="table"),
    "markdown": lambda history: write(grids(history), format_="markdown"),
    "csv": lambda history: write(csv_grid(history), format_="csv"),
    "json": lambda history: written(history.to_json()),
}
