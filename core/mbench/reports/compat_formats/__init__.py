"""The tables that the field publishes, and what they share: cases by table, row and pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.contract import axes
from mbench.reports.cases import is_reduced, unspoken

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable

    from mbench.reports.grid import Cell, Grid
    from mbench.results.case_summary import CaseSummary

__all__ = ["by_devices", "grouped", "name", "precision_order", "rate", "throughput", "title",
           "unit"]  # fmt: skip


def precision_order(precision: str) -> tuple[bool, str]:
    """Sorts full precision before reduced."""
    return is_reduced(precision), precision


def throughput(case: CaseSummary | None) -> float | None:
    """Samples per second over all devices; None if the case was not measured."""
    if case is None or case.outcome != "ok" or case.throughput is None:
        return None
    return case.throughput.value


def unit(cases: Iterable[CaseSummary]) -> str:
    """What throughput is counted in."""
    return next((case.throughput.unit for case in cases if case.throughput), "samples/s")


def rate(grid: Grid, case: CaseSummary | None) -> Cell:
    """The throughput, or the mark of the footnote that says why there is none."""
    if case is None:
        return None
    if (value := throughput(case)) is not None:
        return value
    return grid.note(f"{case.label}: {case.outcome}: {case.reason}") + " -"


def name(case: CaseSummary, cases: Iterable[CaseSummary]) -> str:
    """The label, with the compiler if the label has cases of several compilers."""
    compilers = {other.axes.compiler for other in cases if other.label == case.label}
    return case.label + (f" w/{case.axes.compiler}" if len(compilers) > 1 else "")


def title(case: CaseSummary, cases: Collection[CaseSummary], *, less: Collection[str]) -> str:
    """What the cases of a table share: the axes without those in `less`."""
    return axes.name(case.axes, less={*less, *unspoken(cases)})


def grouped(
    cases: Iterable[CaseSummary], key: Callable[[CaseSummary], Hashable]
) -> list[list[CaseSummary]]:
    """Groups of cases with the same key, in the order of first appearance."""
    found: dict[Hashable, list[CaseSummary]] = {}
    for case in cases:
        found.setdefault(key(case), []).append(case)
    return list(found.values())


def by_devices(cases: Iterable[CaseSummary]) -> list[CaseSummary]:
    return sorted(cases, key=lambda case: case.devices)
