"""The report as Markdown, for pull requests and pages."""

from __future__ import annotations

from typing import Any

from mbench.reports.cells import case_columns, case_rows
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
from mbench.reports.text import escape, rows_of

__all__ = ["render"]

REMARKS = (lacking_lines, outcome_lines, scaling_lines, doubt_lines, rounding_lines,
           disturbance_lines, roofline_lines, difference_lines, variables_lines,
           search_lines)  # fmt: skip


def render(document: dict[str, Any]) -> str:
    """The verdicts, a table of the cases, one of latencies, then what there is to say."""
    protocol, times = protocol_line(document), latencies(document)
    work = operators(document)
    notes = [text for lines in REMARKS for text in lines(document)]
    parts = [
        [f"- {escape(text)}" for text in verdict_lines(document)],
        rows_of(case_columns(document), case_rows(document)),
        rows_of(times.columns, times.rows) if times else [],
        rows_of(work.columns, work.rows) if work else [],
        [escape(protocol)] if protocol else [],
        [f"- {escape(text)}" for text in notes],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"
