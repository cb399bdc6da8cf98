"""DLPerf's table: frameworks down, precision and batch size across, failures as footnotes."""

from __future__ import annotations

from typing import Any

from mbench.reports.grid import Cell, Grid, speedup, write
from mbench.reports.layouts.select import (
    Case,
    devices,
    grouped,
    is_reduced,
    name,
    precision_order,
    rate,
    throughput,
    unit,
)

__all__ = ["render"]


def render(document: dict[str, Any], /, *, format_: str) -> str:
    grids = [
        grid(f"{model} {mode}, {device}" + (f" x{count}" if count > 1 else ""), cases, document)
        for (model, mode, device), of_model in grouped(document["cases"], "model", "mode", "device")
        for count in sorted({devices(case) for case in of_model})
        for cases in [[case for case in of_model if devices(case) == count]]
    ]
    return write(grids, format_=format_)


def grid(title: str, cases: list[Case], document: dict[str, Any]) -> Grid:
    """Throughput per precision and batch size.

    Beside it the speed-up over one device of the same batch size per device, where there are
    several, and the speed-up of reduced over full precision of the same case.
    """
    axes = sorted(
        {(case["precision"], case["batch_size"]) for case in cases},
        key=lambda axis: (*precision_order(axis[0]), axis[1]),
    )
    scaled = any(devices(case) > 1 for case in cases)
    full = "fp32" if any(case["precision"] == "fp32" for case in cases) else "tf32"
    gains = {precision for precision, _ in axes if is_reduced(precision)}
    if not any(precision == full for precision, _ in axes):
        gains = set()
    columns = ["Framework", "Version"]
    for precision, batch in axes:
        columns.append(f"{precision} throughput ({unit(cases)}) bsz={batch}")
        if scaled:
            columns.append(f"{precision} speedup bsz={batch}")
        if precision in gains:
            columns.append(f"{precision} over {full} bsz={batch}")
    made = Grid(title, tuple(columns))
    for _, row in grouped(cases, "label", "compiler"):
        at = {(case["precision"], case["batch_size"]): case for case in row}
        version = next((case["version"] for case in row if case["version"]), None)
        cells: list[Cell] = [name(row[0], cases), version]
        for precision, batch in axes:
            case = at.get((precision, batch))
            cells.append(rate(made, case))
            if scaled:
                alone = find(document, case, devices=1)
                cells.append(speedup(throughput(case), throughput(alone)))
            if precision in gains:
                cells.append(speedup(throughput(case), throughput(at.get((full, batch)))))
        made.rows.append(cells)
    return made


def find(document: dict[str, Any], like: Case | None, **changed: Any) -> Case | None:
    """The case that differs from `like` in nothing but what is given."""
    if like is None:
        return None
    keys = ("label", "compiler", "model", "mode", "precision", "batch_size", "device")
    for case in document["cases"]:
        if all(case[key] == changed.get(key, like[key]) for key in keys) and (
            devices(case) == changed.get("devices", devices(like))
        ):
            return dict(case)
    return None
