"""A run's cases as reports name and list them: what distinguishes them, and their figures."""

from __future__ import annotations

from collections import Counter
from functools import partial, wraps
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text

from mbench.contract.axes import AXES, alike, hushed, name
from mbench.contract.metric import THROUGHPUT
from mbench.contract.precision import PRECISIONS
from mbench.reports.grid import Grid
from mbench.reports.text import interval, number
from mbench.stats import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mbench.contract.axes import Axes, Axis
    from mbench.reports.grid import Cell
    from mbench.results.case_summary import CaseSummary
    from mbench.results.metrics import MetricSummary
    from mbench.results.summary import Summary

    T = TypeVar("T")
    OfCases = Callable[[Collection[CaseSummary]], T]

__all__ = ["WHO", "axes_of", "brief_table", "case_table", "compilers_of", "distinguished",
           "is_reduced", "labelled_axes",
           "latency_table", "measured", "mfu_title", "named", "named_cases", "one_compiler_each",
           "operator_table", "shared_axes", "unspoken"]  # fmt: skip

WHO = ("framework", "version")
SPARE = ("MFU", "MFU (whole)", "MFU (causal)", "peak MiB", "first step s", "version", "step ms")
"""Columns that are left out on a narrow terminal, in this order."""


def remembered(of: OfCases[T]) -> OfCases[T]:
    """Cache the last answer of a function, which reports call for every case of the same run."""
    last: list[tuple[Collection[CaseSummary], T]] = []

    @wraps(of)
    def answer(cases: Collection[CaseSummary]) -> T:
        for known, found in last:
            if known is cases:
                return found
        found = of(cases)
        last[:] = [(cases, found)]
        return found

    return answer


def axes_of(cases: Collection[CaseSummary]) -> list[Axes]:
    return [case.axes for case in cases]


@remembered
def shared_axes(cases: Collection[CaseSummary]) -> frozenset[str]:
    """The axes in which cases do not differ."""
    return alike(axes_of(cases))


@remembered
def unspoken(cases: Collection[CaseSummary]) -> frozenset[str]:
    """The axes that go without saying: all values are usual, or one value on a quiet axis."""
    return hushed(axes_of(cases))


def measured(summary: Summary) -> list[CaseSummary]:
    return [case for case in summary.cases if case.throughput and case.outcome == "ok"]


def named_cases(summary: Summary) -> list[tuple[str, CaseSummary]]:
    """Every case under its label, with what distinguishes it if a label stands for several."""
    labels, same = Counter(case.label for case in summary.cases), shared_axes(summary.cases)
    found = []
    for case in summary.cases:
        what = name(case.axes, less=same, beside=True) if labels[case.label] > 1 else ""
        found.append((f"{case.label} ({what})" if what else case.label, case))
    return found


def named(case: CaseSummary, *, less: Collection[str] = ()) -> str:
    """A case in words, marked if its model does not have its published size."""
    marked = "sizes" not in less and not case.standard
    return name(case.axes, less=less) + (" (non-standard size)" if marked else "")


def distinguished(case: CaseSummary, shared: Collection[str], less: Collection[str]) -> str:
    """A case in words, without the axes in `shared`, unless only usual values would be left."""
    silent = {*shared, *less}
    if {axis.name for axis in AXES} <= silent:
        return ""
    return named(case, less=silent) or named(case, less=less)


@remembered
def labelled_axes(cases: Collection[CaseSummary]) -> frozenset[str]:
    """The settings that differ and that labels imply: each label has only one value."""
    labels, same = {case.label for case in cases}, shared_axes(cases)
    return frozenset(
        axis.name
        for axis in AXES
        if axis.setting
        and axis.name not in same
        and len({(case.label, axis.value(case.axes)) for case in cases}) == len(labels)
    )


@remembered
def compilers_of(cases: Collection[CaseSummary]) -> dict[str, set[str]]:
    """The compilers of each label."""
    found: dict[str, set[str]] = {}
    for case in cases:
        found.setdefault(case.label, set()).add(case.axes.compiler)
    return found


@remembered
def one_compiler_each(cases: Collection[CaseSummary]) -> bool:
    return all(len(used) == 1 for used in compilers_of(cases).values())


def asked_metrics(summary: Summary) -> dict[str, MetricSummary]:
    """The metrics besides throughput that ratios are about, or that were asked for, by name."""
    asked = {*(pair.metric for pair in summary.comparisons), summary.protocol.metric}
    return {name: found for name, found in summary.metrics.items()
            if name in asked and name != THROUGHPUT.name}  # fmt: skip


def case_table(summary: Summary) -> Grid:
    """A row for each case; one that was not measured has its outcome in place of figures."""
    silent = unspoken(summary.cases)
    axes = [axis for axis in AXES if axis.name not in silent]
    figures = figure_columns(summary)
    columns = [*WHO, *(axis.column for axis in axes), *figures]
    rows: list[list[Cell]] = []
    for case in summary.cases:
        row: list[Cell] = [case.label, case.version or ""]
        row += [axis_cell(axis, case) for axis in axes]
        if case.outcome != "ok":
            row += [Text(case.outcome, "failed"), *[""] * (len(figures) - 1)]
        else:
            row += [of(case) for of in figures.values()]
        rows.append(row)
    return Grid("", columns, rows, numeric=frozenset(figures), spare=SPARE)


def axis_cell(axis: Axis, case: CaseSummary) -> str:
    """The value of an axis; a model without its published size is marked."""
    marked = axis.name == "sizes" and not case.standard
    return axis.text(case.axes) + (" (non-standard)" if marked else "")


def figure_columns(summary: Summary) -> Mapping[str, Callable[[CaseSummary], str]]:
    """The columns of figures, each with a function that gives the cell of a measured case."""
    found: dict[str, Callable[[CaseSummary], str]] = {}
    for asked, metric in asked_metrics(summary).items():
        found[metric.title] = partial(metric_value, metric=asked)
        found[f"95 % interval of {metric.title}"] = partial(metric_interval, metric=asked)
    found |= {
        "throughput": throughput,
        "95 % interval": throughput_interval,
        mfu_title(summary): lambda case: percent(case.mfu),
        "step ms": lambda case: number(case.step_time_ms.mean if case.step_time_ms else None),
        "first step s": lambda case: number(case.first_step_seconds, 3),
        "peak MiB": peak,
    }
    if any(case.bandwidth for case in summary.cases):
        found |= {"alg GB/s": algorithm_bandwidth, "bus GB/s": bus_bandwidth}
    if any(case.memory_read for case in summary.cases):
        found |= {"GB/s": read_rate, "of bandwidth": read_share}
    return found


def mfu_title(summary: Summary) -> str:
    """The title of MFU, with the convention for causal attention if a case has it."""
    named_ones = sorted({case.flops_convention or "" for case in summary.cases} - {""})
    return f"MFU ({', '.join(named_ones)})" if named_ones else "MFU"


def read_rate(case: CaseSummary) -> str:
    return gigabytes(case.memory_read.bytes_per_second if case.memory_read else None)


def read_share(case: CaseSummary) -> str:
    return percent(case.memory_read.share if case.memory_read else None)


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.3g} %"


def metric_value(case: CaseSummary, *, metric: str) -> str:
    figure = case.metrics.get(metric)
    return f"{number(figure.value)} {figure.unit}" if figure else ""


def metric_interval(case: CaseSummary, *, metric: str) -> str:
    figure = case.metrics.get(metric)
    return interval(figure.low, figure.high) if figure else ""


def throughput(case: CaseSummary) -> str:
    speed = case.throughput
    return f"{number(speed.value)} {speed.unit}" if speed else ""


def throughput_interval(case: CaseSummary) -> str:
    return interval(case.throughput.low, case.throughput.high) if case.throughput else ""


def peak(case: CaseSummary) -> str:
    most = case.device_memory_bytes or case.peak_memory_bytes
    return f"{most / 2**20:.0f}" if most else ""


def algorithm_bandwidth(case: CaseSummary) -> str:
    return gigabytes(case.bandwidth.algorithm_bytes_per_second if case.bandwidth else None)


def bus_bandwidth(case: CaseSummary) -> str:
    return gigabytes(case.bandwidth.bus_bytes_per_second if case.bandwidth else None)


def gigabytes(rate: float | None) -> str:
    return "" if rate is None else number(rate / 1e9)


def brief_table(summary: Summary) -> tuple[str, Grid]:
    """What all cases share, in words, and the table of the rest, without empty columns."""
    whole = case_table(summary)
    axes = [c for c in whole.columns if c not in WHO and c not in whole.numeric]
    shared = {}
    for at, column in enumerate(whole.columns):
        cells = {str(row[at]) for row in whole.rows}
        if column in axes and len(cells) == 1:
            shared[column] = cells.pop()
    empty = [column for at, column in enumerate(whole.columns)
             if whole.rows and not any(row[at] for row in whole.rows)]  # fmt: skip
    said = ", ".join(f"{column} {cell}" for column, cell in shared.items())
    return said, whole.without(*shared, *empty)


def latency_table(summary: Summary) -> Grid | None:
    """Percentiles of step time of each case that has single steps; None where none has."""
    ranks = [f"p{rank:g}" for rank in PERCENTILES]
    grid = Grid("", ("latency ms", "steps", *ranks), numeric=frozenset({"steps", *ranks}))
    for who, case in named_cases(summary):
        times = case.step_time_ms
        if times and times.samples:
            shown = [number(times.percentiles[rank]) or "-" for rank in ranks]
            grid.rows.append([who, f"{times.samples:,}", *shown])
    return grid if grid.rows else None


def operator_table(summary: Summary) -> Grid | None:
    """FLOPs and bytes per second of operators, beside the roofline; None if there is no operator.

    Columns that are empty in all rows are left out.
    """
    numbers = ("times", "GFLOP/s", "GB/s", "roofline")
    shared = shared_axes(summary.cases) - {"model"}
    grid = Grid("", ("framework", "operator", *numbers), numeric=frozenset(numbers),
                spare=("times", "GB/s"))  # fmt: skip
    for case in summary.cases:
        found = case.operator
        if found is not None and case.outcome == "ok":
            share = found.roofline
            grid.rows.append([
                case.label,
                name(case.axes, less=shared),
                models_of(found.counts),
                gigabytes(found.flops_per_second or None),
                gigabytes(found.bytes_per_second),
                "" if share is None else f"{100 * share:.3g} % of {found.limit}",
            ])  # fmt: skip
    empty = [c for at, c in enumerate(grid.columns) if not any(row[at] for row in grid.rows)]
    return grid.without(*empty) if grid.rows else None


def models_of(times: Mapping[str, int]) -> str:
    """How often an operator is in each model: "3 in resnet50"."""
    return ", ".join(f"{count} in {model}" for model, count in times.items())


def is_reduced(precision: str) -> bool:
    """Whether a precision is what published tables call AMP, mixed or half."""
    known = PRECISIONS.get(precision)
    return known is None or known.half
