"""An explanation in tables: by phase, by depth, by kind of operator, by operator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.explain.kernels_report import of_kernels
from mbench.explain.summary import Difference
from mbench.reports.grid import Grid
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mbench.explain.summary import Explanation, Row

__all__ = ["MOST", "all_tables", "by_size", "interval", "tables"]

MOST = 15
"""Operators and kernels that a table shows: those with the largest differences, or the longest.
CSV and JSON have all."""
SHARE = "of the difference"


def all_tables(found: Explanation, *, most: int | None = MOST, whole: bool = False) -> list[Grid]:
    """One table for each level of all pairs, then those of kernels."""
    pairs = [pair for pair in found.differences if isinstance(pair, Difference)]
    return [*tables(pairs, most=most), *of_kernels(found.kernels, most=most, whole=whole)]


def tables(pairs: Sequence[Difference], *, most: int | None = MOST) -> list[Grid]:
    """By phase, stage, kind of operator and operator; `most` is how many operators are shown."""
    levels: list[tuple[str, list[Grid]]] = [
        ("phase", [of_level(pair, "phase", pair.phases, pair.phase_step) for pair in pairs]),
        ("stage", [of_stages(pair) for pair in pairs]),
    ]
    if any(len(pair.kinds) < len(pair.operators) for pair in pairs):
        levels.append(("kind of operator", [
            of_level(pair, "kind", [*by_size(pair.kinds), *pair.singly], pair.operator_step,
                     counted=True)
            for pair in pairs
        ]))  # fmt: skip
    levels.append(("operator", [of_operators(pair, most) for pair in pairs]))
    return [grid for name, made in levels for grid in together(name, pairs, made)]


def together(level: str, pairs: Sequence[Difference], made: Sequence[Grid]) -> Iterator[Grid]:
    """The tables of all pairs as one; nothing where no pair has such parts."""
    known = [(pair, grid) for pair, grid in zip(pairs, made, strict=True) if grid.rows]
    if not known:
        return
    first, grid = known[0]
    if len(pairs) == 1:
        yield replace(grid, title=f"{first.framework} against {first.baseline}, by {level}")
        return
    plain = ["baseline ms", "other ms"]
    columns = ["framework", "against", *grid.columns]
    at = columns.index(f"{first.baseline} ms")
    columns[at : at + 2] = plain
    rows = [[pair.framework, pair.baseline, *row] for pair, grid in known for row in grid.rows]
    yield Grid(f"By {level}", columns, rows, numeric=grid.numeric | frozenset(plain))


def of_level(
    found: Difference, column: str, rows: Sequence[Row], step: Row | None, *,
    counted: bool = False, level: str = "operators",
) -> Grid:  # fmt: skip
    """`counted` says whether there is a column for how often the step calls each row.

    A rest is what is left of a difference of noisy times: where that is below 0 it is no time.
    """
    names = [f"{found.baseline} ms", f"{found.framework} ms"]
    if names[0] == names[1]:
        names[1] += " (other)"
    columns = [*(["calls per step"] if counted else []), *names, "difference ms",
               "95 % interval, ms", SHARE]  # fmt: skip
    made = Grid("", (column, *columns), numeric=frozenset(columns))
    if step is None:
        return made
    whole = step.difference_ms
    shares = whole.shown and not (column != "phase" and found.overlap(level))
    for row in (*rows, step):
        difference = row.difference_ms
        made.rows.append([
            row.name,
            *([row.times] if counted else []),
            *(taken if taken >= 0 else "" for taken in (row.baseline_ms, row.other_ms)),
            number(difference.value, 3),
            interval(difference.low, difference.high),
            f"{round(difference.value / whole.value, 2) + 0.0:.0%}" if shares else "",
        ])  # fmt: skip
    return made if shares else made.without(SHARE)


def of_stages(found: Difference) -> Grid:
    """With a row that says so for a stage that is not additive."""
    made = of_level(found, "stage", found.depth, found.stage_step, level="stages")
    for name in dict.fromkeys(one.stage for one in found.not_additive):
        blank = [None] * (len(made.columns) - 4)
        made.rows.insert(0, [name, "", "", "not additive here", *("" for _ in blank)])
    return made


def of_operators(found: Difference, most: int | None) -> Grid:
    operators = by_size(found.operators)
    cut = len(operators) - len(operators[:most])
    step = found.operator_step
    made = of_level(found, "operator", [*operators[:most], *found.singly], step, counted=True)
    if cut:
        made.notes.append(f"{cut} smaller differences are in --format json")
    return made


def by_size(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -abs(row.difference_ms.value))


def interval(low: float, high: float) -> str:
    return f"{number(low, 3)} .. {number(high, 3)}"
