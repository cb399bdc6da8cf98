"""The rows of cases that the table, Markdown and CSV share, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.contract.axes import AXES, alike, hushed, name
from mbench.reports.text import interval, number

if TYPE_CHECKING:
    from mbench.contract.axes import Axis

__all__ = ["WHO", "case_columns", "case_rows", "named_cases", "numbers", "said"]

Document = dict[str, Any]

WHO = ("framework", "version")
NUMBERS = ("throughput", "95 % interval", "MFU", "step ms", "first step s", "peak MiB")
BANDWIDTHS = {"alg GB/s": "algorithm_bytes_per_second", "bus GB/s": "bus_bytes_per_second"}
"""Columns of what exchanges, and what they show."""


def said(document: Document) -> list[Axis]:
    """The axes that have to be said to know which case is which."""
    silent = hushed(document["cases"])
    return [axis for axis in AXES if axis.name not in silent]


def numbers(document: Document) -> list[str]:
    """The columns of numbers, which are the last ones."""
    exchanged = any(case["bandwidth"] for case in document["cases"])
    return [*NUMBERS, *(BANDWIDTHS if exchanged else ())]


def case_columns(document: Document) -> list[str]:
    return [*WHO, *(axis.column for axis in said(document)), *numbers(document)]


def case_rows(document: Document) -> list[list[str]]:
    """One row per case under `case_columns`; a case that fell short has its outcome."""
    rows, axes, columns = [], said(document), numbers(document)
    for case in document["cases"]:
        speed, times = case["throughput"], case["step_time_ms"]
        row = [case["label"], case["version"] or ""]
        row += [cell(axis, case) for axis in axes]
        if case["outcome"] != "ok":
            row += [case["outcome"], *[""] * (len(columns) - 1)]
        else:
            peak = case["device_memory_bytes"] or case["peak_memory_bytes"]
            row += [
                f"{number(speed['value'])} {speed['unit']}",
                interval(speed["low"], speed["high"]),
                "" if case["mfu"] is None else f"{100 * case['mfu']:.3g} %",
                number(times["mean"]),
                number(case["first_step_seconds"], 3),
                f"{peak / 2**20:.0f}" if peak else "",
            ]
            rates = case["bandwidth"] or {}
            row += [
                number(rates[of] / 1e9) if rates else ""
                for column, of in BANDWIDTHS.items()
                if column in columns
            ]
        rows.append(row)
    return rows


def cell(axis: Axis, case: Document) -> str:
    """The value of an axis; a model that is not of its published size is marked."""
    marked = axis.name == "sizes" and not case["standard"]
    return axis.text(case) + (" (non-standard)" if marked else "")


def named_cases(document: Document) -> list[tuple[str, Document]]:
    """Every case under its label, with what tells it apart where a label stands for several."""
    labels, same = [case["label"] for case in document["cases"]], alike(document["cases"])
    found = []
    for case in document["cases"]:
        several = labels.count(case["label"]) > 1
        found.append((case["label"] + (f" ({name(case, less=same)})" if several else ""), case))
    return found
