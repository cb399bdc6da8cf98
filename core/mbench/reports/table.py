"""The report for a terminal: the verdicts, the cases, what there is to say, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group

from mbench.reports.cells import WHO, case_columns, case_rows, numbers
from mbench.reports.closing import summary_lines
from mbench.reports.grid import Grid
from mbench.reports.operators import operators, roofline_lines
from mbench.reports.remarks import (
    difference_lines,
    disturbance_lines,
    doubt_lines,
    lacking_lines,
    latencies,
    outcome_lines,
    protocol_line,
    rounding_lines,
    search_lines,
    variables_lines,
    verdict_lines,
)
from mbench.reports.scaling import scaling_lines
from mbench.reports.terminal import Sentences, paragraphs

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["render"]

REMARKS = (lacking_lines, outcome_lines, scaling_lines, doubt_lines, rounding_lines,
           disturbance_lines, roofline_lines, difference_lines, variables_lines,
           search_lines)  # fmt: skip
SPARE = ("MFU", "peak MiB", "first step s", "version", "step ms")
"""The first is the first to go where a terminal is narrow."""


def render(document: dict[str, Any]) -> RenderableType:
    """The verdicts first, and in a few words last."""
    shared, grid = cases(document)
    protocol = protocol_line(document)
    closing = [*summary_lines(document), f"run {document['run']}, {document['status']}"]
    return paragraphs([
        Sentences(verdict_lines(document)),
        Group(Sentences(shared), grid),
        latencies(document),
        operators(document),
        Sentences([line for lines in REMARKS for line in lines(document)]),
        Sentences([protocol] if protocol else []),
        Sentences(closing),
    ])  # fmt: skip


def cases(document: dict[str, Any]) -> tuple[list[str], Grid]:
    """The line of what all cases share, and the table of the rest; nothing of what none has."""
    columns, rows = case_columns(document), case_rows(document)
    axes = range(len(WHO), len(columns) - len(numbers(document)))
    shared = [at for at in axes if len({row[at] for row in rows}) == 1]
    empty = [at for at, cells in enumerate(zip(*rows, strict=True)) if not any(cells)]
    kept = [at for at in range(len(columns)) if at not in (*shared, *empty)]
    grid = Grid(
        "",
        [columns[at] for at in kept],
        [[row[at] for at in kept] for row in rows],
        numeric=frozenset(numbers(document)),
        spare=SPARE,
    )
    return [", ".join(f"{columns[at]} {rows[0][at]}" for at in shared)] if shared else [], grid
