"""Sections of numbers: throughput, latency, what a case takes, every round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mbench import stats
from mbench.console import counted
from mbench.contract.axes import AXES, SETTINGS, key
from mbench.reports.cases import (
    WHO,
    compilers_of,
    distinguished,
    labelled_axes,
    measured,
    mfu_title,
    named,
    operator_table,
    shared_axes,
    unspoken,
)
from mbench.reports.grid import Grid
from mbench.reports.html.inputs import input_section
from mbench.reports.html.parts import LONG, Chart, Figure, Section, captioned
from mbench.reports.html.speedups import speedups
from mbench.reports.remark_text import lines
from mbench.reports.remarks import FasterThanMemory, MissingPercentiles, Scaling, of_kind
from mbench.reports.text import interval, number
from mbench.results.summary import SearchSummary

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mbench.contract.axes import Axis
    from mbench.reports.remarks import Remark
    from mbench.results.case_summary import CaseSummary
    from mbench.results.figures import Throughput
    from mbench.results.summary import Summary

__all__ = ["caption", "sections"]

# With more cases, rounds are folded, and drawn when a reader opens them.
MOST_OPEN = 12
# With fewer batch sizes, a line says nothing that rows do not say better.
FEWEST_ON_A_LINE = 3

Row = dict[str, object]
"""A row of a chart."""


def sections(summary: Summary, found: Sequence[Remark]) -> list[Section]:
    """The sections that the run has data for."""
    made = (
        throughput(summary, found),
        latency(summary, found),
        work(summary, found),
        speedups(summary),
        takes(summary),
        input_section(summary),
        rounds(summary),
    )
    return [section for section in made if section is not None]


WITHIN = ("batch_size", *SETTINGS)
"""The axes in which cases of one figure may differ; all others are in its heading."""


def within(case: CaseSummary, cases: Sequence[CaseSummary]) -> str:
    """What distinguishes the cases of one figure, besides their labels and compilers."""
    return named(case, less={"compiler", *labelled_axes(cases), *shared_axes(cases)})


def name(case: CaseSummary, cases: Sequence[CaseSummary]) -> str:
    """The framework, with the compiler where it has several."""
    compilers = compilers_of(cases)[case.label]
    return f"{case.label}, {case.axes.compiler}" if len(compilers) > 1 else case.label


def row(case: CaseSummary, cases: Sequence[CaseSummary]) -> Row:
    """A chart's row of a case, under its axes where the chart has several."""
    return {"group": within(case, cases), "name": name(case, cases), "series": case.label}


def groups(
    cases: Sequence[CaseSummary], summary: Summary, within: Collection[str] = WITHIN
) -> list[tuple[str, list[CaseSummary]]]:
    """The cases of each figure, under a title that distinguishes it from the other figures."""
    found: dict[tuple[object, ...], list[CaseSummary]] = {}
    for case in cases:
        found.setdefault(key(case.axes, less=within), []).append(case)
    shared, less = shared_axes(summary.cases), {*within, *unspoken(summary.cases)}
    return [(distinguished(members[0], shared, less), members) for members in found.values()]


def case_columns(summary: Summary) -> list[Axis]:
    """The axes that tell the cases of a figure apart; what all cases share is said above."""
    shared = shared_axes(summary.cases) - {"compiler"}
    return [axis for axis in AXES if axis.name in WITHIN and axis.name not in shared]


def case_cells(case: CaseSummary, axes: Sequence[Axis]) -> list[str]:
    return [case.label, case.version or "", *(axis.text(case.axes) for axis in axes)]


def speeds(cases: Sequence[CaseSummary]) -> list[tuple[CaseSummary, Throughput]]:
    """The cases that were measured, with their throughputs."""
    return [(case, case.throughput) for case in cases if case.throughput and case.outcome == "ok"]


def throughput(summary: Summary, found: Sequence[Remark]) -> Section | None:
    """Throughput over batch size if there are enough sizes, else one row for each case."""
    figures, axes = [], case_columns(summary)
    for title, cases in groups(summary.cases, summary):
        rates = speeds(cases)
        unit = rates[0][1].unit if rates else "samples/s"
        columns = [*WHO, *(axis.column for axis in axes), unit, "95 % interval", "step ms"]
        numeric = frozenset(columns[-3:])
        short = any(case.outcome != "ok" for case in cases)
        table = []
        for case in cases:
            ended = [f"{case.outcome}: {case.reason}" if case.reason else case.outcome] * short
            table.append([*case_cells(case, axes), *speed_cells(case), *ended])
        data = None
        if len({case.axes.batch_size for case, _ in rates}) >= FEWEST_ON_A_LINE:
            data = over_batch(rates, unit)
        elif rates:
            data = one_by_one(rates, unit)
        alt = captioned(f"Throughput of {counted(len(rates), 'case')} with 95 % intervals", title)
        grid = Grid(captioned("Throughput", title), columns + ["outcome"] * short, table,
                    numeric=numeric)  # fmt: skip
        figures.append(
            Figure(
                title=title,
                charts=[Chart(data, f"{alt}.")] if data else (),
                table=grid,
                folded=data is not None and len(table) > LONG,
            )
        )
    if not figures:
        return None
    lead = "Work per second; the 95 % interval is over fresh processes."
    foreign = any(not case.standard for case in summary.cases)
    odd = "Non-standard input size: do not compare with published numbers."
    notes = [*[odd] * foreign, *map(str, lines(of_kind(found, Scaling, SearchSummary)))]
    return Section("throughput", "Throughput", lead, figures, notes=notes)


def caption(chart: Chart) -> str:
    """How to read a chart of throughput."""
    if chart.data["kind"] == "lines":
        return "Thick lines: 95 % intervals over fresh processes."
    return "Thick line: 95 % interval over fresh processes. Small dots: single processes."


def speed_cells(case: CaseSummary) -> list[str]:
    """Throughput, its interval and the time of a step; empty if the case was not measured."""
    speed, times = case.throughput, case.step_time_ms
    if speed is None or times is None or case.outcome != "ok":
        return ["", "", ""]
    return [number(speed.value), interval(speed.low, speed.high), number(times.mean)]


def over_batch(cases: Sequence[tuple[CaseSummary, Throughput]], unit: str) -> Row:
    """One line for each framework, precision and compiler."""
    everyone = [case for case, _ in cases]
    precisions = {case.axes.precision for case in everyone}
    dashes: dict[str, list[str]] = {}
    points = []
    for case, speed in cases:
        line = name(case, everyone)
        line += f", {case.axes.precision}" if len(precisions) > 1 else ""
        own = dashes.setdefault(case.label, [])
        if line not in own:
            own.append(line)
        points.append({"x": case.axes.batch_size, "series": case.label, "line": line,
                       "dash": own.index(line), "value": speed.value, "low": speed.low,
                       "high": speed.high})  # fmt: skip
    return {"kind": "lines", "x": "batch size", "y": unit, "points": points}


def one_by_one(cases: Sequence[tuple[CaseSummary, Throughput]], unit: str) -> Row:
    everyone = [case for case, _ in cases]
    rows = [
        {**row(case, everyone), "value": speed.value, "low": speed.low, "high": speed.high,
         "dots": speed.processes, "text": number(speed.value)}
        for case, speed in cases
    ]  # fmt: skip
    return {"kind": "intervals", "label": unit, "log": False, "reference": None, "rows": rows}


def latency(summary: Summary, found: Sequence[Remark]) -> Section | None:
    """Percentiles of steps that were timed one by one."""
    figures, axes = [], case_columns(summary)
    names = [f"p{rank:g}" for rank in stats.PERCENTILES]
    timed = [case for case in measured(summary) if case.step_time_ms and case.step_time_ms.samples]
    for title, cases in groups(timed, summary):
        columns = (*WHO, *(axis.column for axis in axes), "steps", "mean", *names)
        numeric = frozenset(columns[len(WHO) + len(axes) :])
        grid = Grid(captioned("Latency in ms", title), columns, numeric=numeric)
        rows = []
        for case in cases:
            if (times := case.step_time_ms) is None:
                continue
            known = {name: ms for name, ms in times.percentiles.items() if ms is not None}
            cells = [number(known[name]) if name in known else "-" for name in names]
            grid.rows.append([*case_cells(case, axes), str(times.samples),
                              number(times.latency_mean), *cells])  # fmt: skip
            if known:
                rows.append({**row(case, cases), "values": known})
        data = {"kind": "percentiles", "rows": rows, "label": "ms per step"}
        alt = captioned(f"Latency percentiles of {counted(len(rows), 'case')}", title)
        charts = [Chart(data, f"{alt}.")] if rows else []
        figures.append(Figure(title=title, charts=charts, table=grid))
    if not figures:
        return None
    lead = (
        "Each step is synchronised on its own. A percentile is given where at least one step lies "
        "beyond it."
    )
    notes = [*map(str, lines(of_kind(found, MissingPercentiles)))]
    return Section("latency", "Latency", lead, figures, notes=notes)


def work(summary: Summary, found: Sequence[Remark]) -> Section | None:
    """FLOPs and bytes of operators, and their share of the roofline, in one table."""
    grid = operator_table(summary)
    if grid is None:
        return None
    lead = (
        "FLOPs and least bytes of a call, divided by its time. The roofline is what the machine's "
        "fastest matrix product or its memory, whichever takes longer, would allow."
    )
    figure = Figure(table=replace(grid, title="Operators"))
    return Section("operators", "Operators", lead, [figure],
                   notes=[*map(str, lines(of_kind(found, FasterThanMemory)))])  # fmt: skip


Value = Callable[["CaseSummary"], "float | None"]
TAKES: tuple[tuple[str, str, str, float, Value], ...] = (
    ("Peak memory", "peak MiB", "the most that a process used; on a GPU, according to the "
     "framework's own allocator since the warm-up", 2**-20, lambda case: case.peak_memory_bytes),
    ("Memory held on the GPU", "held MiB", "the most that a process held, according to "
     "the driver", 2**-20, lambda case: case.device_memory_bytes),
    ("Peak of the warm-up", "warm-up MiB", "the allocator's peak while algorithms were tried",
     2**-20, lambda case: case.warmup_peak_memory_bytes),
    ("First step", "first step s", "with tracing and compiling, and not part of any other number",
     1, lambda case: case.first_step_seconds),
    ("FLOPs utilisation", "MFU %", "FLOPs per second, as a share of those of the fastest matrix "
     "product of any framework here", 100, lambda case: case.mfu),
    ("Memory read", "read GB/s", "weights and cache that new tokens must read, per second", 1e-9,
     lambda case: case.memory_read.bytes_per_second if case.memory_read else None),
    ("Share of the bandwidth", "of bandwidth %", "that rate, as a share of the memory bandwidth "
     "that was measured here", 100,
     lambda case: case.memory_read.share if case.memory_read else None),
    ("Energy", "J per sample", "used by the device during the blocks", 1,
     lambda case: case.energy.joules_per_sample if case.energy else None),
)  # fmt: skip


def takes(summary: Summary) -> Section | None:
    """Memory, first step, FLOPs utilisation and energy: one number each for every case."""
    cases = measured(summary)
    kinds = [kind for kind in TAKES if any(kind[-1](case) is not None for case in cases)]
    if not kinds:
        return None
    figures, axes = [], case_columns(summary)
    for title, members in groups(cases, summary):
        columns = [column for _, column, *_ in kinds]
        rows = [
            [*case_cells(case, axes), *(number(scaled(value(case), by)) for *_, by, value in kinds)]
            for case in members
        ]
        charts = []
        for what, label, _, by, value in kinds:
            known = [case for case in members if value(case) is not None]
            bars = [
                {**row(case, members), "value": scaled(value(case), by),
                 "text": number(scaled(value(case), by))}
                for case in known
            ]  # fmt: skip
            data = {"kind": "bars", "rows": bars, "label": label}
            alt = captioned(f"{what} of {counted(len(known), 'case')}", title)
            charts += [Chart(data, f"{alt}.", what)] if known else []
        grid = Grid(captioned("Per case", title), (*WHO, *(axis.column for axis in axes), *columns),
                    rows, numeric=frozenset(columns))  # fmt: skip
        figures.append(Figure(title=title, charts=charts, table=grid, folded=True))
    titles = [what for what, *_ in kinds]
    heading = ", ".join([titles[0], *(title[0].lower() + title[1:] for title in titles[1:])])
    lead = "; ".join(f"{what}: {means}" for what, _, means, *_ in kinds) + "."
    if any(case.flops_convention and case.mfu is not None for case in cases):
        lead += f" {mfu_title(summary)}: how the FLOPs of causal attention are counted."
    return Section("takes", heading.replace("fLOPs", "FLOPs"), lead, figures)


def scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value * by


def rounds(summary: Summary) -> Section | None:
    """The raw values: every block of every process, in the order in which they ran."""
    figures, everyone = [], measured(summary)
    for title, cases in groups(everyone, summary, {"compiler", *labelled_axes(summary.cases)}):
        rows, charts = [], []
        unit = ""
        known = [value for _, speed in speeds(cases) for of in speed.rounds for value in of]
        domain = [min(known), max(known)] if known else []
        for case, speed in speeds(cases):
            values, name_, unit = speed.rounds, name(case, cases), unit or speed.unit
            rows += [
                [name_, str(process), " ".join(map(number, of_process))]
                for process, of_process in enumerate(values, start=1)
            ]
            data = {"kind": "rounds", "processes": values, "label": unit, "domain": domain,
                    "series": case.label, "value": speed.value}  # fmt: skip
            processes = counted(len(values), "process")
            alt = captioned(f"Throughput of each round in {processes}: {name_}", title)
            charts.append(Chart(data, f"{alt}.", name_))
        columns = ("framework", "process", f"{unit} of its rounds")
        table = Grid(captioned("Rounds", title), columns, rows)
        shut = len(everyone) > MOST_OPEN
        figures.append(Figure(title=title, charts=charts, table=table, folded=True, shut=shut))
    if not figures:
        return None
    lead = (
        "One dot for each block between two synchronisations, processes side by side. The line is "
        "the case's throughput. The spread of these dots is what the intervals measure."
    )
    return Section("rounds", "Every round", lead, figures)
