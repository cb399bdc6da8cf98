"""The report for a terminal."""

from __future__ import annotations

import io
import shutil
from typing import Any

from mbench.reports.cells import NUMBERS, WHO, case_columns, case_rows
from mbench.reports.remarks import (
    difference_lines,
    disturbance_lines,
    latency_lines,
    protocol_line,
    search_lines,
    variables_lines,
    verdict_lines,
)
from mbench.reports.text import plain

__all__ = ["render"]


def render(document: dict[str, Any]) -> str:
    """Cases, latency percentiles where there are any, differences, disturbances and verdicts."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = io.StringIO()
    width = max(shutil.get_terminal_size((160, 24)).columns, 80)
    console = Console(file=out, width=width, color_system=None, force_terminal=False)
    columns, rows = case_columns(document), case_rows(document)
    axes = range(len(WHO), len(columns) - len(NUMBERS))
    # A column that says the same for all cases is said once, above the table.
    shared = [at for at in axes if len({row[at] for row in rows}) == 1]
    if shared:
        console.print(Text(", ".join(f"{columns[at]} {rows[0][at]}" for at in shared)))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    kept = [at for at in range(len(columns)) if at not in shared]
    for at in kept:
        right = columns[at] in NUMBERS[1:]
        table.add_column(columns[at], justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[at]) for at in kept))
    console.print(table)
    remarks = [latency_lines, difference_lines, variables_lines, search_lines, disturbance_lines]
    for line in [line for lines in remarks for line in lines(document)]:
        console.print(Text(line))
    if protocol := protocol_line(document):
        console.print(Text(protocol))
    if verdicts := verdict_lines(document):
        console.print()
        for line in verdicts:
            console.print(Text(line))
    console.print(Text(f"\nrun {document['run']}, {document['status']}"))
    return plain(out.getvalue())
