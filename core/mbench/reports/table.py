"""The report for a terminal."""

from __future__ import annotations

import shutil
from typing import Any

from mbench.reports.cells import NUMBERS, WHO, case_columns, case_rows
from mbench.reports.grid import Grid, drawn
from mbench.reports.remarks import (
    difference_lines,
    disturbance_lines,
    latency_lines,
    protocol_line,
    search_lines,
    variables_lines,
    verdict_lines,
)
from mbench.reports.text import folded, plain

__all__ = ["render"]

NARROWEST = 80
REMARKS = (latency_lines, difference_lines, variables_lines, search_lines, disturbance_lines)


def render(document: dict[str, Any]) -> str:
    """Cases, latency percentiles where there are any, differences, disturbances and verdicts."""
    width = max(shutil.get_terminal_size((160, 24)).columns, NARROWEST)
    columns, rows = case_columns(document), case_rows(document)
    axes = range(len(WHO), len(columns) - len(NUMBERS))
    # A column that says the same for all cases is said once, above the table.
    shared = [at for at in axes if len({row[at] for row in rows}) == 1]
    kept = [at for at in range(len(columns)) if at not in shared]
    grid = Grid(
        "",
        [columns[at] for at in kept],
        [[row[at] for at in kept] for row in rows],
        numeric=frozenset(NUMBERS[1:]),
    )
    verdicts = verdict_lines(document)
    above = [", ".join(f"{columns[at]} {rows[0][at]}" for at in shared)] if shared else []
    below = [line for lines in REMARKS for line in lines(document)]
    below += [protocol] if (protocol := protocol_line(document)) else []
    below += ["", *verdicts] if verdicts else []
    below += ["", f"run {document['run']}, {document['status']}"]
    return plain(
        "\n".join([*folded(above, width), *drawn(grid, width=width), *folded(below, width)])
    )
