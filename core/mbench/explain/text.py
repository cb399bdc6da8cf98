"""An explanation in sentences and tables, and what a reader of the tables has to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.explain.kernels_report import of_kernels
from mbench.explain.summary import Difference
from mbench.reports.grid import Grid
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mbench.explain.summary import Explanation, Interval, Pair, Row

__all__ = ["MOST", "all_tables", "by_size", "ending", "headline", "interval", "notes", "tables"]

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


SENTENCES = 3
"""Kinds and stages that have a sentence."""
PHASES = {"forward": "the forward pass", "backward": "the backward pass", "update": "the update"}


def headline(found: Explanation) -> list[str]:
    """What was compared, then the answer."""
    return [found.comparison, *(said for pair in found.differences for said in sentences(pair))]


def sentences(found: Pair) -> Iterator[str]:
    base, other = found.baseline, found.framework
    if not isinstance(found, Difference):
        yield f"{other} against {base}: no set of processes has all parts of both"
        return
    whole = found.step.difference_ms
    more = "longer" if whole.value >= 0 else "less"
    yield (
        f"A step of {other} takes {amount(whole, absolute=True)} {more} than one of {base}: "
        f"{number(found.step.other_ms, 4)} against {number(found.step.baseline_ms, 4)} ms, "
        f"over {found.sets} sets of processes."
    )
    if whole.low is None:
        yield "An interval needs at least three sets: give --processes 3 or more."
        return
    if not whole.shown:
        yield "The whole steps show no difference; differences of parts may cancel out."
    for row in shown(found.phases):
        yield f"{amount(row.difference_ms)} of it is found in {PHASES.get(row.name, row.name)}."
    for row in shown(found.stages)[:SENTENCES]:
        yield f"{amount(row.difference_ms)} of it is found in the blocks of {row.name}."
    if found.rest:
        yield f"{amount(found.rest.difference_ms)} is found outside all stages."
    for row in shown(found.kinds)[:SENTENCES]:
        yield f"{amount(row.difference_ms)} of it is found in {row.name}."
    residual = found.residual.difference_ms
    share = abs(residual.value) / max(found.step.baseline_ms, found.step.other_ms)
    yield (
        f"{amount(residual)} is not attributed to any single operator: {share:.0%} of the longer "
        "step."
    )


def shown(rows: Iterable[Row]) -> list[Row]:
    """Those whose interval excludes 0, the largest first."""
    return by_size([row for row in rows if row.difference_ms.shown])


def amount(found: Interval, *, absolute: bool = False) -> str:
    """A time with its interval; with `absolute`, of its size."""
    value, low, high = found.value, found.low, found.high
    if absolute and value < 0:
        value, low, high = -value, *(None if end is None else -end for end in (high, low))
    said = f"{number(value, 3)} ms"
    return f"{said} ({ends})" if (ends := interval(low, high)) else said


def notes(found: Explanation) -> Iterator[str]:
    """What a reader of the tables has to know, and what is missing in them."""
    for case in found.cases:
        if case.reason:
            yield f"{case.label}: {case.outcome}: {case.reason}"
        elif not case.proven:
            yield f"{case.label}: its work is not proven equal"
    for part in found.missing:
        yield f"{part.label} lacks {part.part}: {part.reason}"
    if not found.differences:
        return
    yield (
        "The intervals of a table hold together with 95 % (Bonferroni). Operators were timed one "
        "at a time, in the processes that timed the whole step. What a framework fuses, or does "
        "outside its operators, is not attributed to any of them."
    )
    if not found.lengthened:
        yield "Depth is left out: the run has no variant of the model with a longer stage."
    elif any(pair.stages for pair in found.differences if isinstance(pair, Difference)):
        yield (
            "The row of a stage is the additional time of the model with that stage twice as long. "
            "What only the first block of a stage has, such as a shortcut, is in no stage's row."
        )


def ending(found: Explanation) -> list[str]:
    return [*notes(found), f"run {found.run}, {found.status}"]
