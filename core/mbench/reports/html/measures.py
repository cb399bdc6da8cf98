"""Sections of numbers: throughput, latency, what a case takes, every round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.console import counted
from mbench.contract.axes import AXES, SETTINGS, alike, hushed, key
from mbench.reports.cells import WHO
from mbench.reports.grid import Grid
from mbench.reports.headline import apart, named, told
from mbench.reports.html.parts import LONG, Chart, Figure, Section, captioned, measured
from mbench.reports.html.speedups import speedups
from mbench.reports.operators import operators, roofline_lines
from mbench.reports.remarks import lacking_lines, search_lines
from mbench.reports.scaling import scaling_lines
from mbench.reports.text import interval, number

if TYPE_CHECKING:
    from collections.abc import Collection

    from mbench.contract.axes import Axis

__all__ = ["sections"]

# Of more cases, the rounds are drawn when a reader opens them.
MOST_OPEN = 12
# Over fewer batch sizes than these, a line says nothing that rows do not say better.
FEWEST_ON_A_LINE = 3

Document = dict[str, Any]


def sections(document: Document) -> list[Section]:
    """Those that the run has data for."""
    made = (
        throughput(document),
        latency(document),
        work(document),
        speedups(document),
        takes(document),
        rounds(document),
    )
    return [section for section in made if section is not None]


WITHIN = ("batch_size", *SETTINGS)
"""The axes in which cases of one figure differ; all others are its heading's."""


def within(case: Document, cases: list[Document]) -> str:
    """What tells the cases of one figure apart, beside their labels and compilers."""
    return named(case, less={"compiler", *told(cases), *alike(cases)})


def name(case: Document, cases: list[Document]) -> str:
    """The framework, with the compiler where it has several."""
    compilers = {other["compiler"] for other in cases if other["label"] == case["label"]}
    return f"{case['label']}, {case['compiler']}" if len(compilers) > 1 else str(case["label"])


def row(case: Document, cases: list[Document]) -> dict[str, Any]:
    """A chart's row of a case, under its axes where the chart has several."""
    return {"group": within(case, cases), "name": name(case, cases), "series": case["label"]}


def groups(
    cases: list[Document], document: Document, within: Collection[str] = WITHIN
) -> list[tuple[str, list[Document]]]:
    """Cases that belong in one figure, which is named by what tells it from the others."""
    found: dict[tuple[Any, ...], list[Document]] = {}
    for case in cases:
        found.setdefault(key(case, less=within), []).append(case)
    shared, less = alike(document["cases"]), {*within, *hushed(document["cases"])}
    return [(apart(members[0], shared, less), members) for members in found.values()]


def case_columns(document: Document) -> list[Axis]:
    """The axes that tell the cases of a figure apart; what all cases share is said above."""
    shared = alike(document["cases"]) - {"compiler"}
    return [axis for axis in AXES if axis.name in WITHIN and axis.name not in shared]


def case_cells(case: Document, axes: list[Axis]) -> list[str]:
    return [case["label"], case["version"] or "", *(axis.text(case) for axis in axes)]


def throughput(document: Document) -> Section | None:
    """Over batch size where there are several, else one row for each case."""
    figures, axes = [], case_columns(document)
    for title, cases in groups(document["cases"], document):
        rates = [case for case in cases if case["throughput"] and case["outcome"] == "ok"]
        unit = rates[0]["throughput"]["unit"] if rates else "samples/s"
        columns = (*WHO, *(axis.column for axis in axes), unit, "95 % interval", "step ms")
        short = any(case["outcome"] != "ok" for case in cases)
        table = []
        for case in cases:
            speed, times = case["throughput"] or {}, case["step_time_ms"] or {}
            cells = [number(speed.get("value")), interval(speed.get("low"), speed.get("high")),
                     number(times.get("mean"))]  # fmt: skip
            if case["outcome"] != "ok":
                cells = ["", "", ""]
            ended = [f"{case['outcome']}: {case['reason']}".removesuffix(": ")] if short else []
            table.append([*case_cells(case, axes), *cells, *ended])
        data = None
        if len({case["batch_size"] for case in rates}) >= FEWEST_ON_A_LINE:
            data = over_batch(rates, unit)
        elif rates:
            data = one_by_one(rates, unit)
        alt = captioned(f"Throughput of {counted(len(rates), 'case')} with 95 % intervals", title)
        grid = Grid(
            captioned("Throughput", title),
            (*columns, "outcome") if short else columns,
            table,
            numeric=frozenset(columns[-3:]),
        )
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
    lead = "Samples by time, the centre of the processes, with its 95 % interval over them."
    notes = [*scaling_lines(document), *search_lines(document)]
    return Section("throughput", "Throughput", lead, figures, notes=notes)


def over_batch(cases: list[Document], unit: str) -> Document:
    """One line for each framework, precision and compiler."""
    precisions = {case["precision"] for case in cases}
    dashes: dict[str, list[str]] = {}
    points = []
    for case in cases:
        line = name(case, cases) + (f", {case['precision']}" if len(precisions) > 1 else "")
        own = dashes.setdefault(case["label"], [])
        if line not in own:
            own.append(line)
        rates = {end: case["throughput"][end] for end in ("value", "low", "high")}
        points.append({"x": case["batch_size"], "series": case["label"], "line": line,
                       "dash": own.index(line), **rates})  # fmt: skip
    return {"kind": "lines", "x": "batch size", "y": unit, "points": points}


def one_by_one(cases: list[Document], unit: str) -> Document:
    return {
        "kind": "intervals", "label": unit, "log": False, "reference": None, "rows": [
            {
                **row(case, cases),
                "value": case["throughput"]["value"], "low": case["throughput"]["low"],
                "high": case["throughput"]["high"], "dots": case["throughput"]["processes"],
                "text": number(case["throughput"]["value"]),
            }
            for case in cases
        ],
    }  # fmt: skip


def latency(document: Document) -> Section | None:
    """Percentiles of steps that were timed one by one."""
    figures, axes = [], case_columns(document)
    names = [f"p{rank:g}" for rank in stats.PERCENTILES]
    timed = [case for case in measured(document) if case["step_time_ms"]["samples"]]
    for title, cases in groups(timed, document):
        columns = (*WHO, *(axis.column for axis in axes), "steps", "mean", *names)
        numeric = frozenset(columns[len(WHO) + len(axes) :])
        grid = Grid(captioned("Latency in ms", title), columns, numeric=numeric)
        rows = []
        for case in cases:
            times = case["step_time_ms"]
            known = {name: times[name] for name in names if times[name] is not None}
            cells = [number(known[name]) if name in known else "-" for name in names]
            grid.rows.append([*case_cells(case, axes), str(times["samples"]),
                              number(times["latency_mean"]), *cells])  # fmt: skip
            if known:
                rows.append({**row(case, cases), "values": known})
        data = {"kind": "percentiles", "rows": rows, "label": "ms for a step"}
        alt = captioned(f"Latency percentiles of {counted(len(rows), 'case')}", title)
        charts = [Chart(data, f"{alt}.")] if rows else []
        figures.append(Figure(title=title, charts=charts, table=grid))
    if not figures:
        return None
    lead = (
        "Every step synchronised by itself. A percentile is given where at least one step lies "
        "beyond it."
    )
    return Section("latency", "Latency", lead, figures, notes=lacking_lines(document))


def work(document: Document) -> Section | None:
    """FLOPs and bytes of operators, and their share of the roofline, in one table."""
    grid = operators(document)
    if grid is None:
        return None
    lead = (
        "FLOPs and least bytes of a call by its time. The roofline is what the machine's fastest "
        "matrix product or its memory, whichever takes longer, would allow."
    )
    figure = Figure(table=replace(grid, title="Operators"))
    return Section("operators", "Operators", lead, [figure], notes=roofline_lines(document))


def joules(case: Document) -> float | None:
    return (case.get("energy") or {}).get("joules_per_sample")


Value = Callable[[Document], float | None]
TAKES: tuple[tuple[str, str, str, float, Value], ...] = (
    ("Peak memory", "peak MiB", "the most that a process took; on a GPU by the framework's own "
     "allocator, since the warm-up", 2**-20, lambda case: case["peak_memory_bytes"]),
    ("Memory held on the GPU", "held MiB", "the most that a process had of it, by the driver",
     2**-20, lambda case: case.get("device_memory_bytes")),
    ("Peak of the warm-up", "warm-up MiB", "the allocator's, while algorithms were tried",
     2**-20, lambda case: case.get("warmup_peak_memory_bytes")),
    ("First step", "first step s", "with tracing and compiling, and in no other number",
     1, lambda case: case["first_step_seconds"]),
    ("FLOPs utilisation", "MFU %", "FLOPs by time, as a share of the fastest matrix product of "
     "any framework here", 100, lambda case: case.get("mfu")),
    ("Energy", "J per sample", "of the device, during the blocks", 1, joules),
)  # fmt: skip


def takes(document: Document) -> Section | None:
    """One number for each case of memory, the first step, FLOPs utilisation and energy."""
    cases = measured(document)
    kinds = [kind for kind in TAKES if any(kind[-1](case) is not None for case in cases)]
    if not kinds:
        return None
    figures, axes = [], case_columns(document)
    for title, members in groups(cases, document):
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
    return Section("takes", heading.replace("fLOPs", "FLOPs"), lead, figures)


def scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value * by


def rounds(document: Document) -> Section | None:
    """The raw values: every block of every process, in the order in which they ran."""
    figures = []
    measured_, apart = measured(document), {"compiler", *told(document["cases"])}
    for title, cases in groups(measured_, document, apart):
        unit = cases[0]["throughput"]["unit"]
        rows, charts = [], []
        for case in cases:
            values, name_ = case["throughput"]["rounds"], name(case, cases)
            rows += [
                [name_, str(process), " ".join(number(value) for value in of_process)]
                for process, of_process in enumerate(values)
            ]
            data = {"kind": "rounds", "processes": values, "label": unit,
                    "series": case["label"], "value": case["throughput"]["value"]}  # fmt: skip
            processes = counted(len(values), "process")
            alt = captioned(f"Throughput of each round in {processes}: {name_}", title)
            charts.append(Chart(data, f"{alt}.", name_))
        columns = ("framework", "process", f"{unit} of its rounds")
        table = Grid(captioned("Rounds", title), columns, rows)
        shut = len(measured_) > MOST_OPEN
        figures.append(Figure(title=title, charts=charts, table=table, folded=True, shut=shut))
    if not figures:
        return None
    lead = (
        "One dot for each block between two synchronisations, processes side by side. The line is "
        "the case's throughput. What scatters here is what the intervals are made of."
    )
    return Section("rounds", "Every round", lead, figures)
