"""An explanation as tables: by phase, by depth, by kind of operator, by operator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.explain.attribution import by_size
from mbench.explain.kernels_report import of_kernels
from mbench.explain.summary import Difference
from mbench.reports.grid import Grid
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.explain.summary import Explanation, Row, StageParts

__all__ = ["MOST", "all_tables", "interval", "tables"]

MOST = 15
"""Most operators and kernels that a table shows: those with the largest differences, or the
longest. CSV and JSON have all."""
SHARE = "of the difference"


def all_tables(found: Explanation, *, most: int | None = MOST, whole: bool = False) -> list[Grid]:
    """One table per level for all pairs, then those of kernels."""
    pairs = [pair for pair in found.differences if isinstance(pair, Difference)]
    return [*tables(pairs, most=most), *of_kernels(found.kernels, most=most, whole=whole)]


def tables(pairs: Sequence[Difference], *, most: int | None = MOST) -> list[Grid]:
    """Tables by phase, stage, kind of operator and operator; at most `most` operators are shown."""
    within = any(pair.within for pair in pairs)
    levels: list[tuple[str, list[Grid]]] = [
        ("phase", [of_level(pair, "phase", pair.phases, pair.phase_step) for pair in pairs]),
        ("stage and operator" if within else "stage", [of_stages(pair, within) for pair in pairs]),
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
    """The tables of all pairs as one; nothing if no pair has such parts."""
    known = [(pair, grid) for pair, grid in zip(pairs, made, strict=True) if grid.rows]
    if not known:
        return
    if len(pairs) == 1:
        first, grid = known[0]
        yield replace(grid, title=f"{first.framework} against {first.baseline}, by {level}")
        return
    widest = max((grid for _, grid in known), key=lambda grid: len(grid.columns))
    plain = ["baseline ms", "other ms"]
    columns = ["framework", "against", *widest.columns]
    at = columns.index("difference ms")
    columns[at - 2 : at] = plain
    rows = [[pair.framework, pair.baseline, *row] for pair, grid in known for row in grid.rows]
    for row in rows:  # a pair that shows no difference has no shares, which are the last column
        row += [""] * (len(columns) - len(row))
    notes = list(dict.fromkeys(note for _, grid in known for note in grid.notes))
    yield Grid(f"By {level}", columns, rows, numeric=widest.numeric | frozenset(plain), notes=notes)


def of_level(
    found: Difference, column: str, rows: Sequence[Row], step: Row | None, *,
    counted: bool = False, level: str = "operators",
) -> Grid:  # fmt: skip
    """`counted` says whether there is a column for how often the step calls each row.

    A rest is a difference of noisy times. If it is negative, it is not a time and is left blank.
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
            *(["" if row.times is None else row.times] if counted else []),
            *(taken if taken >= 0 else "" for taken in (row.baseline_ms, row.other_ms)),
            number(difference.value, 3),
            interval(difference.low, difference.high),
            f"{round(difference.value / whole.value, 2) + 0.0:.0%}" if shares else "",
        ])  # fmt: skip
    return made if shares else made.without(SHARE)


def of_stages(found: Difference, within: bool) -> Grid:
    """Stages that differ are followed by their operators, by kind, and by what is in none of them.
    A stage that is not additive has a row that says so. `within` says whether there is a column
    for operators.
    """
    rows: list[tuple[str, Row]] = []
    known = {one.stage.name: one for one in found.within}
    for row in found.depth:
        rows.append(("", row))
        if parts := known.get(row.name):
            rows += [(row.name, one) for one in by_size(parts.kinds)]
            rows += [(row.name, in_none(parts))] if parts.in_none else []
    made = of_level(found, "stage", [row for _, row in rows], found.stage_step, level="stages",
                    counted=within)  # fmt: skip
    if within:
        made = replace(made, columns=("stage", "operator", *made.columns[1:]))
        stages = [stage for stage, _ in rows] + [""] * (len(made.rows) - len(rows))
        made.rows[:] = [
            [stage, *row] if stage else [row[0], "", *row[1:]]
            for stage, row in zip(stages, made.rows, strict=True)
        ]
    for name in dict.fromkeys(one.stage for one in found.not_additive):
        said = dict.fromkeys(made.columns, "")
        said |= {"stage": name, "difference ms": "not additive here"}
        made.rows.insert(0, [*said.values()])
    return made


def in_none(parts: StageParts) -> Row:
    """The time of a stage that no operator in it explains; its name counts missing operators."""
    row = parts.in_none
    assert row is not None
    if not parts.unmeasured:
        return row
    lacking = f"{row.name.replace('no ', 'no measured ', 1)} ({len(parts.unmeasured)} left out)"
    return replace(row, name=lacking)


def of_operators(found: Difference, most: int | None) -> Grid:
    operators = by_size(found.operators)
    cut = len(operators) - len(operators[:most])
    step = found.operator_step
    made = of_level(found, "operator", [*operators[:most], *found.singly], step, counted=True)
    if cut:
        made.notes.append(f"{cut} smaller differences are in --format json")
    return made


def interval(low: float, high: float) -> str:
    return f"{number(low, 3)} .. {number(high, 3)}"
