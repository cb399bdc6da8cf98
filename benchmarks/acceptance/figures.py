"""The figures of a step, taken from the JSON that it printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from acceptance.step import Document

__all__ = ["cells_of", "figures_of", "read"]

Row = dict[str, Any]
NAMED_BY = ("model", "mode", "batch_size", "precision", "tier", "compiler")


def read(report: Path) -> Document | None:
    """What a process printed: one document, or one per line, of which the last whole one counts."""
    text = report.read_text(encoding="utf-8", errors="replace")
    for part in [text, *reversed(text.splitlines())]:
        try:
            found = json.loads(part)
        except ValueError:
            continue
        if isinstance(found, dict):
            return found
    return None


def name_of(one: Row) -> str:
    label = one.get("label") or one.get("framework")
    return " ".join(str(part) for part in (label, *(one.get(axis) for axis in NAMED_BY)) if part)


def cells_of(document: Document) -> list[Row]:
    """Each proof or case: its framework, its name, its outcome and the reason."""
    return [
        {
            "framework": one["framework"],
            "name": name_of(one),
            "outcome": one["outcome"],
            "reason": one["reason"],
        }
        for one in [*document.get("proofs", []), *document.get("cases", [])]
    ]


def figures_of(document: Document | None) -> dict[str, Any]:
    """Figures by kind; kinds that the document does not have are left out."""
    if document is None:
        return {}
    readers = {
        "proofs": proof, "cases": case, "comparisons": ratio, "calibrations": ratio,
        "searches": search, "checks": check, "kernels": kernels,
    }  # fmt: skip
    found: dict[str, Any] = {
        kind: [one for one in map(reader, document[kind]) if one]
        for kind, reader in readers.items()
        if isinstance(document.get(kind), list)
    }
    if "system" in document:
        found["run"] = document["run"]
        found["status"] = document["status"]
    if not found:  # a program of ours, which prints only figures
        found["probe"] = document
    return found


def proof(one: Row) -> Row:
    """The worst error of each kind of check, with its gate."""
    made = one["proof"] or {}
    worst: dict[tuple[str, float], Row] = {}
    for finding in made.get("findings", []):
        key = finding["check"], finding["gate"]
        if key not in worst or (finding["error"] or 0) > (worst[key]["error"] or 0):
            worst[key] = {name: finding[name] for name in ("check", "error", "gate", "where")}
    return {
        "name": name_of(one),
        "precision": one["precision"],
        "outcome": one["outcome"],
        "reason": one["reason"],
        "grade": made.get("grade"),
        "worst": made.get("worst"),
        "remembered": made.get("remembered"),
        "checks": list(worst.values()),
    }


def kernels(one: Row) -> Row:
    """How many calls of each kind a profiler reported, and which kernels took longest by it."""
    told = sorted(one["kernels"], key=lambda kernel: -kernel["milliseconds"])
    calls: dict[str, int] = {}
    for kernel in told:
        calls[kernel["primitive"]] = calls.get(kernel["primitive"], 0) + kernel["count"]
    return {
        "name": one["label"],
        "reason": one["reason"],
        "libraries": one["libraries"],
        "calls": calls,
        "longest": [kernel["implementation"] for kernel in told[:3]],
    }


def case(one: Row) -> Row:
    if "throughput" not in one:  # a case of `mbench explain`
        return {}
    throughput, energy = one["throughput"] or {}, one["energy"] or {}
    telemetry, ceiling = one["telemetry"] or {}, one["ceiling"] or {}
    gpu = telemetry.get("gpu") or {}
    step = one["step_time_ms"] or {}
    return {
        "name": name_of(one),
        "outcome": one["outcome"],
        "reason": one["reason"],
        "version": one["version"],
        **{key: throughput.get(key) for key in ("value", "low", "high", "unit", "processes")},
        "step_ms": step.get("mean"),
        "first_step_seconds": one["first_step_seconds"],
        "peak_memory_bytes": one["peak_memory_bytes"],
        "warmup_peak_memory_bytes": one["warmup_peak_memory_bytes"],
        "device_memory_bytes": one["device_memory_bytes"],
        "synchronize_seconds": one["synchronize_seconds"],
        "sm_mhz": gpu.get("sm_mhz"),
        "power_watts": gpu.get("power_watts"),
        "highest_celsius": gpu.get("highest_celsius"),
        "slowed_by": gpu.get("slowed_by"),
        "disturbances": [disturbance["text"] for disturbance in one["disturbances"]],
        "joules_per_sample": energy.get("joules_per_sample"),
        "mean_watts": energy.get("mean_watts"),
        "mfu": one["mfu"],
        "peak_flops_per_second": one["peak_flops_per_second"],
        "sustained_flops_per_second": ceiling.get("sustained_flops_per_second"),
        "data_sheet_flops_per_second": one["data_sheet_flops_per_second"],
        "bytes_per_second": ceiling.get("bytes_per_second"),
        "ceiling_reason": ceiling.get("reason"),
        "equal_work": (one["equal_work"] or {}).get("proven"),
        "doubts": one["doubts"],
    }


def ratio(one: Row) -> Row:
    """The ratio of a comparison, or of a framework with itself."""
    pair = f"{one['framework']} / {one.get('baseline', one['framework'])}"
    axes = (one.get(axis) for axis in NAMED_BY if axis != "compiler")
    keys = ("ratio", "low", "high", "process_pairs", "pairs", "verdict", "reason", "detectable",
            "equal_work", "disturbances")  # fmt: skip
    return {
        "name": " ".join(str(part) for part in (pair, *axes) if part),
        **{key: one[key] for key in keys if key in one},
    }


def search(one: Row) -> Row:
    return dict(one)


def check(one: Row) -> Row:
    """Checks that are ok are left out, except the GPU's."""
    return {} if one["status"] == "ok" and not one["name"].startswith("GPU") else dict(one)
