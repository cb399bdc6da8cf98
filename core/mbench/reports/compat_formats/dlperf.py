"""DLPerf's table: frameworks down, precision and batch size across, failures as footnotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import axes
from mbench.reports.cases import is_reduced
from mbench.reports.compat_formats import (
    by_devices,
    grouped,
    name,
    precision_order,
    rate,
    throughput,
    title,
    unit,
)
from mbench.reports.grid import Cell, Grid, speedup, write

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["render"]

WITHIN = ("batch_size", "scale", "precision", "compiler", "variables")
"""The axes of a table's columns and rows; there is a table for each value of the others."""


def render(summary: Summary, /, *, format_: str) -> RenderableType:
    cases, grids = summary.cases, []
    for table in grouped(cases, lambda case: axes.key(case.axes, less=WITHIN)):
        what = title(table[0], cases, less=WITHIN)
        for members in grouped(by_devices(table), lambda case: case.axes.scale):
            count = members[0].devices
            several = f", {members[0].axes.scale} = {count} devices" if count > 1 else ""
            grids.append(grid(what + several, members, summary))
    return write(grids, format_=format_)


def grid(what: str, cases: list[CaseSummary], summary: Summary) -> Grid:
    """Throughput per precision and batch size.

    If there are several devices, the speed-up over one device with the same batch size per device
    follows. After a reduced precision comes its speed-up over full precision of the same case.
    """
    across = sorted(
        {(case.axes.precision, case.axes.batch_size) for case in cases},
        key=lambda axis: (*precision_order(axis[0]), axis[1]),
    )
    scaled = any(case.devices > 1 for case in cases)
    full = "fp32" if any(case.axes.precision == "fp32" for case in cases) else "tf32"
    gains = {precision for precision, _ in across if is_reduced(precision)}
    if not any(precision == full for precision, _ in across):
        gains = set()
    columns = ["Framework", "Version"]
    for precision, batch in across:
        columns.append(f"{precision} throughput ({unit(cases)}) bsz={batch}")
        if scaled:
            columns.append(f"{precision} speedup bsz={batch}")
        if precision in gains:
            columns.append(f"{precision} over {full} bsz={batch}")
    made = Grid(what, tuple(columns))
    for row in grouped(cases, lambda case: (case.label, case.axes.compiler)):
        at = {(case.axes.precision, case.axes.batch_size): case for case in row}
        version = next((case.version for case in row if case.version), None)
        cells: list[Cell] = [name(row[0], cases), version]
        for precision, batch in across:
            case = at.get((precision, batch))
            cells.append(rate(made, case))
            if scaled:
                alone = on_one_device(summary, case)
                cells.append(speedup(throughput(case), throughput(alone)))
            if precision in gains:
                cells.append(speedup(throughput(case), throughput(at.get((full, batch)))))
        made.rows.append(cells)
    return made


def on_one_device(summary: Summary, like: CaseSummary | None) -> CaseSummary | None:
    """The case on one device that otherwise equals `like`; None if there is none."""
    if like is None:
        return None
    identity = like.label, axes.key(like.axes, less={"scale"})
    for case in summary.cases:
        if case.devices == 1 and (case.label, axes.key(case.axes, less={"scale"})) == identity:
            return case
    return None
