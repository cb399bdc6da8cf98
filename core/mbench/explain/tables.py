"""An explanation in tables: by phase, by depth, by kind of operator, by operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.explain.kernels_report import of_kernels
from mbench.explain.summary import Difference
from mbench.reports.grid import Grid
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.explain.summary import Explanation, Pair, Row

__all__ = ["MOST", "all_tables", "by_size", "interval", "tables"]

MOST = 15
"""Operators and kernels that a table shows: those with the largest differences, or the longest.
CSV and JSON have all."""
COLUMNS = ("times", "baseline ms", "other ms", "difference ms", "interval", "of the difference")


def all_tables(found: Explanation, *, most: int | None = MOST, whole: bool = False) -> list[Grid]:
    made = [grid for pair in found.differences for grid in tables(pair, most=most)]
    return [*made, *of_kernels(found.kernels, most=most, whole=whole)]


def tables(found: Pair, *, most: int | None = MOST) -> list[Grid]:
    """`most` is how many operators are shown."""
    if not isinstance(found, Difference):
        return []
    who = f"{found.framework} against {found.baseline}"
    kinds = [*by_size(found.kinds), found.empty, found.residual, found.step]
    operators = by_size(found.operators)
    cut = len(operators) > len(operators[:most])
    tail = f", the {most} largest differences of {len(operators)}" if cut else ""
    made = [
        table_of(found, f"{who}: by {name}", name, [*rows, found.step], counted=False)
        for name, rows in (("phase", found.phases), ("depth", found.depth))
        if rows
    ]
    made.append(table_of(found, f"{who}: where the difference is found", "kind", kinds))
    made.append(table_of(found, f"{who}: by operator{tail}", "operator", operators[:most]))
    return made


def table_of(
    found: Difference, title: str, column: str, rows: Iterable[Row], *, counted: bool = True
) -> Grid:
    """`counted` says whether there is a column for how often the step calls each row."""
    whole = found.step.difference_ms.value
    made = Grid(title, (column, *COLUMNS[not counted :]), numeric=frozenset(COLUMNS))
    for row in rows:
        difference = row.difference_ms
        made.rows.append([
            row.name,
            *([row.times] if counted else []),
            row.baseline_ms,
            row.other_ms,
            number(difference.value, 3),
            interval(difference.low, difference.high),
            f"{difference.value / whole:.0%}" if whole else "",
        ])  # fmt: skip
    return made


def by_size(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -abs(row.difference_ms.value))


def interval(low: float | None, high: float | None) -> str:
    return "" if low is None else f"{number(low, 3)} .. {number(high, 3)}"
