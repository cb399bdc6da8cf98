"""The report as CSV: one line per case, plain numbers, the ratio to the baseline beside it."""

from __future__ import annotations

import csv
import io
from typing import Any

from mbench.contract.axes import AXES
from mbench.reports.operators import stands
from mbench.reports.text import spreadsheet

__all__ = ["render", "rows"]

WHO = ("label", "framework", "version")


def render(document: dict[str, Any]) -> str:
    """Empty cells where there is no number; the reason stands in its own column."""
    made = rows(document)
    header = made[0] if made else [*WHO, *(axis.name for axis in AXES)]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=header, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: spreadsheet(cell) for name, cell in row.items()} for row in made)
    return out.getvalue()


def of_operator(found: dict[str, Any]) -> dict[str, Any]:
    """Cells that are empty but for operators."""
    names = ("bytes_per_sample", "flops_per_second", "bytes_per_second", "limit", "roofline")
    return {"stands": stands(found.get("stands", {}))} | {name: found.get(name) for name in names}


def rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each case, by column."""
    made = []
    ratios = {one["cases"][1]: one for one in document["comparisons"] if one["against_first"]}
    for number, case in enumerate(document["cases"]):
        speed, times = case["throughput"] or {}, case["step_time_ms"] or {}
        energy = case["energy"] or {}
        against = ratios.get(number, {})
        made.append(
            {name: case[name] for name in WHO}
            | {axis.name: axis.value(case) for axis in AXES}
            | {"global_batch_size": case["global_batch_size"]}
            | {"outcome": case["outcome"], "reason": case["reason"]}
            | {"protocol": document["protocol"]["name"]}
            | {
                "samples_per_second": speed.get("value"),
                "samples_per_second_low": speed.get("low"),
                "samples_per_second_high": speed.get("high"),
                "step_time_ms": times.get("mean"),
                **{
                    f"step_time_ms_{p}": times.get(p) for p in ("p50", "p90", "p95", "p99", "p99.9")
                },
                "percentiles_lacking": "; ".join(
                    f"{name} {why}" for name, why in times.get("lacking", {}).items()
                ),
                "first_step_seconds": case["first_step_seconds"],
                "peak_memory_bytes": case["peak_memory_bytes"],
                "device_memory_bytes": case["device_memory_bytes"],
                "mfu": case["mfu"],
                **of_operator(case["operator"] or {}),
                **{
                    name: (case["bandwidth"] or {}).get(name)
                    for name in ("algorithm_bytes_per_second", "bus_bytes_per_second")
                },
                "joules_per_sample": energy.get("joules_per_sample"),
                "disturbances": "; ".join(found["text"] for found in case["disturbances"]),
                "baseline": against.get("baseline"),
                "ratio": against.get("ratio"),
                "ratio_low": against.get("low"),
                "ratio_high": against.get("high"),
                "ratio_median": against.get("median"),
                "verdict": against.get("verdict"),
                "equal_work": against.get("equal_work"),
            }
        )
    return made
