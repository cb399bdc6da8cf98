"""Operators' FLOPs and bytes by time beside the machine's roofline, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.contract.axes import alike, name
from mbench.reports.grid import Grid
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["operators", "roofline_lines", "stands"]

Document = dict[str, Any]
NUMBERS = ("times", "GFLOP/s", "GB/s", "roofline")
CACHED = 1.0
"""Of the roof of memory: what is faster was not in memory."""


def operators(document: Document) -> Grid | None:
    """A row for each operator that was measured, named by what tells it apart; None where none was.

    Columns that are empty in all rows are left out.
    """
    rows, shared = [], alike(document["cases"]) - {"model"}
    for case in document["cases"]:
        found = case["operator"]
        if found is None or case["outcome"] != "ok":
            continue
        share = found["roofline"]
        rows.append([
            case["label"],
            name(case, less=shared),
            stands(found["stands"]),
            number(found["flops_per_second"] / 1e9) if found["flops_per_second"] else "",
            number(found["bytes_per_second"] / 1e9),
            "" if share is None else f"{100 * share:.3g} % of {found['limit']}",
        ])  # fmt: skip
    columns = ("framework", "operator", *NUMBERS)
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    if not rows:
        return None
    return Grid(
        "",
        [columns[at] for at in kept],
        [[row[at] for at in kept] for row in rows],
        numeric=frozenset(NUMBERS),
        spare=("times", "GB/s"),
    )


def stands(times: Mapping[str, int]) -> str:
    """How often it stands in each model: "3 in resnet50"."""
    return ", ".join(f"{count} in {model}" for model, count in times.items())


def roofline_lines(document: Document) -> list[str]:
    """That some are beyond the roof of memory, and why that is no mistake."""
    found = [one["operator"] for one in document["cases"] if one["operator"]]
    beyond = sum(one["limit"] == "memory" and (one["roofline"] or 0) > CACHED for one in found)
    if not beyond:
        return []
    return [f"{beyond} of {len(found)} operators are faster than memory: their operands stay in "
            "caches between steps"]  # fmt: skip
