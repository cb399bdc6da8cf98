"""The rows of cases that the table, Markdown and CSV share, as text."""

from __future__ import annotations

from typing import Any

from mbench.contract.axes import said
from mbench.reports.text import interval, number

__all__ = ["case_columns", "case_rows", "named_cases"]

Document = dict[str, Any]

case_columns = (
    "framework", "version", "model", "mode", "batch", "precision", "compiler", "device",
    "throughput", "95 % interval", "MFU", "step ms", "first step s", "peak MiB",
)  # fmt: skip


def case_rows(document: Document) -> list[list[str]]:
    """One row per case under `case_columns`; a case that fell short says why."""
    rows = []
    for case in document["cases"]:
        speed, times = case["throughput"], case["step_time_ms"]
        row = [
            case["label"],
            case["version"] or "",
            case["model"] + ("" if case["standard"] else size_note(case)),
            case["mode"],
            str(case["batch_size"]),
            case["precision"],
            case["compiler"],
            case["device"],
        ]
        if case["outcome"] != "ok":
            row += [f"{case['outcome']}: {case['reason']}", "", "", "", "", ""]
        else:
            peak = case["peak_memory_bytes"]
            row += [
                f"{number(speed['value'])} {speed['unit']}",
                interval(speed["low"], speed["high"]),
                "" if case["mfu"] is None else f"{100 * case['mfu']:.3g} %",
                number(times["mean"]),
                number(case["first_step_seconds"], 3),
                f"{peak / 2**20:.0f}" if peak else "",
            ]
        rows.append(row)
    return rows


def size_note(case: Document) -> str:
    """Marks a workload that is not of its published size."""
    return f" (non-standard {said(case['sizes'])})"


def named_cases(document: Document) -> list[tuple[str, Document]]:
    """Every case under its label, with its axes where a label stands for several cases."""
    labels = [case["label"] for case in document["cases"]]
    found = []
    for case in document["cases"]:
        name = case["label"]
        if labels.count(name) > 1:
            name += f" ({case['model']} {case['mode']}, batch {case['batch_size']}, "
            name += f"{case['precision']}, {case['compiler']})"
        found.append((name, case))
    return found
