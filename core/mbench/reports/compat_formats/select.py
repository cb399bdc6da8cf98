"""Which cases of a document belong into one table, one row and one pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench.contract import axes
from mbench.contract.precision import PRECISIONS
from mbench.contract.scale import parse_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from mbench.reports.grid import Cell, Grid

__all__ = [
    "Case",
    "devices",
    "grouped",
    "is_reduced",
    "name",
    "precision_order",
    "rate",
    "throughput",
    "title",
    "unit",
]

Case = dict[str, Any]

FULL = tuple(name for name, precision in PRECISIONS.items() if not precision.half)


def devices(case: Case) -> int:
    """How many worked on it together."""
    return parse_scale(case["scale"]).devices


def is_reduced(precision: str) -> bool:
    """Whether a precision is what the field's tables call AMP, mixed or half."""
    return precision not in FULL


def precision_order(precision: str) -> tuple[bool, str]:
    """Sorts full precision before reduced."""
    return is_reduced(precision), precision


def throughput(case: Case | None) -> float | None:
    """Samples per second over all devices; None where the case fell short."""
    if case is None or case["outcome"] != "ok" or case["throughput"] is None:
        return None
    return float(case["throughput"]["value"])


def unit(cases: Iterable[Case]) -> str:
    """What throughput is counted in."""
    units = (str(case["throughput"]["unit"]) for case in cases if case["throughput"])
    return next(units, "samples/s")


def rate(grid: Grid, case: Case | None) -> Cell:
    """The throughput, or the mark of the footnote that says why there is none."""
    if case is None:
        return None
    if (value := throughput(case)) is not None:
        return value
    return grid.note(f"{case['label']}: {case['outcome']}: {case['reason']}") + " -"


def name(case: Case, cases: Iterable[Case]) -> str:
    """The label, with the compiler where the label has cases of several."""
    compilers = {other["compiler"] for other in cases if other["label"] == case["label"]}
    return str(case["label"]) + (f" w/{case['compiler']}" if len(compilers) > 1 else "")


def title(case: Case, cases: Collection[Case], *, less: Collection[str]) -> str:
    """What the cases of a table share: the axes but for those in `less`."""
    return axes.name(case, less={*less, *axes.hushed(cases)})


def grouped(cases: Iterable[Case], key: Callable[[Case], Any]) -> list[list[Case]]:
    """Cases of the same key, groups in the order of first appearance."""
    found: dict[Any, list[Case]] = {}
    for case in cases:
        found.setdefault(key(case), []).append(case)
    return list(found.values())
