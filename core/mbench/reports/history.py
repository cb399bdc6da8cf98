"""Throughput over all stored runs as text: one table for each line of a plot."""

from __future__ import annotations

from typing import Any

from mbench.contract.axes import AXES, name
from mbench.errors import MbenchError
from mbench.reports import json
from mbench.reports.grid import Cell, Grid, write
from mbench.reports.text import interval, number

__all__ = ["FORMATS", "lines"]

Document = dict[str, Any]

COLUMNS = ("run", "version", "throughput", "95 % interval", "change", "verdict")


def change(point: Document) -> str:
    """The change from the point before, in percent; empty for the first of a line."""
    if point["change"] is None:
        return ""
    return f"{100 * (point['change']['ratio'] - 1):+.1f} %"


def row(point: Document) -> list[Cell]:
    speed = point["throughput"]
    return [
        point["run"],
        point["version"] or "",
        f"{number(speed['value'])} {speed['unit']}",
        interval(speed["low"], speed["high"]),
        change(point),
        point["change"]["verdict"] if point["change"] else "",
    ]


def lines(document: Document) -> dict[str, list[Document]]:
    """The points of each line, oldest first, by its name.

    Protocols and machines are named where there are several.
    """
    found: dict[str, list[Document]] = {}
    points = document["points"]
    several = [what for what in ("protocol", "cpu") if len({point[what] for point in points}) > 1]
    for point in points:
        words = [name(point), *(str(point[what]) for what in several)]
        found.setdefault(f"{point['label']}: {', '.join(words)}", []).append(point)
    return found


def grids(document: Document) -> list[Grid]:
    if not document["points"]:
        raise MbenchError("no run has such a case; see mbench list runs")
    return [
        Grid(title, COLUMNS, [row(point) for point in points])
        for title, points in lines(document).items()
    ]


def csv_grid(document: Document) -> list[Grid]:
    """Plain numbers, a column for each."""
    flat: list[dict[str, Cell]] = []
    for point in document["points"]:
        plain = {key: value for key, value in point.items() if key not in ("throughput", "change")}
        plain |= {axis.name: axis.value(point) for axis in AXES}
        speed, changed = point["throughput"], point["change"] or {}
        for end in ("value", "low", "high"):
            plain[f"samples_per_second_{end}".removesuffix("_value")] = speed[end]
        for key in ("ratio", "low", "high"):
            plain[f"change_{key}"] = changed.get(key)
        flat.append({**plain, "verdict": changed.get("verdict")})
    columns = tuple(flat[0]) if flat else COLUMNS
    return [Grid("history", columns, [list(entry.values()) for entry in flat])]


FORMATS = {
    "table": lambda document: write(grids(document), format_="table"),
    "markdown": lambda document: write(grids(document), format_="markdown"),
    "csv": lambda document: write(csv_grid(document), format_="csv"),
    "json": json.render,
}
