"""The report for a terminal."""

from __future__ import annotations

import io
import shutil
from typing import Any

from mbench.reports.cells import (
    case_columns,
    case_rows,
    disturbance_lines,
    named_cases,
    plain,
    protocol_line,
    search_lines,
    variables_lines,
    verdict_lines,
)
from mbench.stats import PERCENTILES

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
    rows = case_rows(document)
    # A column that says the same for all cases is said once, above the table.
    shared = {
        column: rows[0][at]
        for at, column in enumerate(case_columns[1:8], start=1)
        if column != "version" and rows and all(row[at] == rows[0][at] for row in rows)
    }
    if shared:
        console.print(Text(", ".join(f"{name} {value}" for name, value in shared.items())))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    kept = [at for at, column in enumerate(case_columns) if column not in shared]
    for at in kept:
        table.add_column(case_columns[at], justify="right" if at > 8 else "left", overflow="fold")
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


def latency_lines(document: dict[str, Any]) -> list[str]:
    """Percentiles of step time per inference case; what the sample does not support is said."""
    lines = []
    for name, case in named_cases(document):
        times = case["step_time_ms"]
        if times and times["samples"]:
            known = {rank: times[f"p{rank:g}"] for rank in PERCENTILES}
            shown = [f"p{rank:g} {value:.4g}" for rank, value in known.items() if value is not None]
            line = f"{name}: step ms over {times['samples']} steps: {', '.join(shown)}"
            for rank, why in times["lacking"].items():
                line += f"; {rank} {why}"
            lines.append(line)
    return lines


def difference_lines(document: dict[str, Any]) -> list[str]:
    """What each framework does its own way, once per framework and set of differences."""
    seen: dict[tuple[str, str], None] = {}
    for case in document["cases"]:
        if case["differences"]:
            seen[(case["label"], "; ".join(case["differences"]))] = None
    return [f"{label}: {text}" for label, text in seen]
