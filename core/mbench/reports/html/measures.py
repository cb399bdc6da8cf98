"""Sections of numbers: throughput, latency, speed-ups, MFU, memory, first step, energy, rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.contract.axes import AXES, hushed, key
from mbench.reports.grid import Grid
from mbench.reports.html.parts import LONG, Figure, Section, named, title_of
from mbench.reports.layouts.select import is_reduced
from mbench.reports.text import interval, number

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["sections"]

# Of more cases, the rounds are drawn when a reader opens them.
MOST_OPEN = 12

Document = dict[str, Any]


def sections(document: Document) -> list[Section]:
    """Those that the run has data for."""
    made = (
        throughput(document),
        latency(document),
        speedups(document),
        *(single(document, *given) for given in SINGLE),
        rounds(document),
    )
    return [section for section in made if section is not None]


def measured(document: Document) -> list[Document]:
    return [case for case in document["cases"] if case["throughput"] and case["outcome"] == "ok"]


WITHIN = ("batch_size", "precision", "compiler")
"""The axes in which cases of one figure differ; all others are its heading's."""


def within(case: Document) -> str:
    """What tells the cases of one figure apart, beside framework and compiler."""
    return named(case, less={axis.name for axis in AXES} - {"batch_size", "precision"})


def name(case: Document, cases: list[Document]) -> str:
    """The framework, with the compiler where it has several."""
    compilers = {other["compiler"] for other in cases if other["label"] == case["label"]}
    return title_of(case) + (f", {case['compiler']}" if len(compilers) > 1 else "")


def row(case: Document, cases: list[Document]) -> dict[str, Any]:
    """A chart's row of a case, under its axes where the chart has several."""
    several = len({within(other) for other in cases}) > 1
    return {
        "group": within(case) if several else "", "name": name(case, cases),
        "series": title_of(case),
    }  # fmt: skip


def heading(case: Document, document: Document) -> str:
    return named(case, less={*WITHIN, *hushed(document["cases"])})


def groups(cases: list[Document], document: Document) -> list[tuple[str, list[Document]]]:
    """Cases whose numbers belong on one axis."""
    found: dict[tuple[Any, ...], list[Document]] = {}
    for case in cases:
        found.setdefault(key(case, less=WITHIN), []).append(case)
    return [(heading(members[0], document), members) for members in found.values()]


INNER = [axis for axis in AXES if axis.name in WITHIN]
CASE_COLUMNS = ("framework", "version", *(axis.column for axis in INNER))


def case_cells(case: Document) -> list[str]:
    return [title_of(case), case["version"] or "", *(axis.text(case) for axis in INNER)]


def throughput(document: Document) -> Section | None:
    """Over batch size where there are several, else one row for each case."""
    figures = []
    for title, cases in groups(document["cases"], document):
        rates = [case for case in cases if case["throughput"] and case["outcome"] == "ok"]
        unit = rates[0]["throughput"]["unit"] if rates else ""
        columns = (*CASE_COLUMNS, f"throughput, {unit or 'samples/s'}", "95 % interval", "step ms")
        short = any(case["outcome"] != "ok" for case in cases)
        table = []
        for case in cases:
            speed, times = case["throughput"] or {}, case["step_time_ms"] or {}
            cells = [number(speed.get("value")), interval(speed.get("low"), speed.get("high")),
                     number(times.get("mean"))]  # fmt: skip
            if case["outcome"] != "ok":
                cells = ["", "", ""]
            ended = [f"{case['outcome']}: {case['reason']}".removesuffix(": ")] if short else []
            table.append([*case_cells(case), *cells, *ended])
        chart = None
        if len({case["batch_size"] for case in rates}) > 1:
            chart = over_batch(rates, unit)
        elif rates:
            chart = one_by_one(rates, unit)
        figures.append(
            Figure(
                title=title,
                chart=chart,
                alt=f"Throughput of {len(rates)} cases with 95 % intervals: {title}.",
                table=Grid(
                    f"Throughput: {title}",
                    (*columns, "outcome") if short else columns,
                    table,
                    numeric=frozenset(columns[-3:]),
                ),
                folded=chart is not None and len(table) > LONG,
            )
        )
    if not figures:
        return None
    lead = "Samples by time, the centre of the processes, with its 95 % interval over them."
    return Section("throughput", "Throughput", lead, figures)


def over_batch(cases: list[Document], unit: str) -> Document:
    """One line for each framework, precision and compiler."""
    several = {case["precision"] for case in cases}
    return {
        "kind": "lines", "x": "batch size", "y": unit, "log": True, "points": [
            {
                "x": case["batch_size"],
                "series": title_of(case),
                "line": name(case, cases) + (f", {case['precision']}" if len(several) > 1 else ""),
                "value": case["throughput"]["value"], "low": case["throughput"]["low"],
                "high": case["throughput"]["high"],
            }
            for case in cases
        ],
    }  # fmt: skip


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
    figures = []
    names = [f"p{rank:g}" for rank in stats.PERCENTILES]
    timed = [case for case in measured(document) if case["step_time_ms"]["samples"]]
    for title, cases in groups(timed, document):
        columns = (*CASE_COLUMNS, "steps", "mean", *names)
        table, rows = [], []
        for case in cases:
            times = case["step_time_ms"]
            known = {name: times[name] for name in names if times[name] is not None}
            table.append(
                [*case_cells(case), str(times["samples"]), number(times["latency_mean"]),
                 *(number(times[name]) if name in known else times["lacking"][name]
                   for name in names)]
            )  # fmt: skip
            rows.append({**row(case, cases), "values": known})
        figures.append(
            Figure(
                title=title,
                chart={"kind": "percentiles", "rows": rows, "label": "ms for a step"},
                alt=f"Latency percentiles of {len(rows)} cases: {title}.",
                table=Grid(
                    f"Latency in ms: {title}", columns, table, numeric=frozenset(columns[5:])
                ),
            )
        )
    if not figures:
        return None
    lead = (
        "Every step synchronised by itself. A percentile is given where at least one step lies "
        "beyond it."
    )
    return Section("latency", "Latency", lead, figures)


def speedups(document: Document) -> Section | None:
    """What reduced precision and other compilers gain, each against the same case without them."""
    found = []
    for case in measured(document):
        for what, base in (
            (case["precision"], partner(document, case, "precision", is_full)),
            (case["compiler"], partner(document, case, "compiler", None)),
        ):
            if base is not None:
                found.append((what, base, case))
    if not found:
        return None
    columns = ("case", "framework", "gain from", "over", "speed-up", "95 % interval")
    table, rows, less = [], [], hushed(document["cases"])
    for what, base, case in found:
        gain = stats.contrast(base["throughput"]["processes"], case["throughput"]["processes"])
        over = base["precision"] if what == case["precision"] else base["compiler"]
        ends = interval(gain.low, gain.high)
        table.append([named(case, less=less), title_of(case), what, over, number(gain.value), ends])
        rows.append(
            {"group": f"{named(case, less={'precision', 'compiler', *less})}: {what} over {over}",
             "name": title_of(case), "series": title_of(case), "value": gain.value,
             "low": gain.low, "high": gain.high, "dots": [], "text": number(gain.value)}
        )  # fmt: skip
    figure = Figure(
        chart={"kind": "intervals", "rows": rows, "log": True, "reference": 1,
               "label": "times as fast"},
        alt=f"{len(rows)} speed-ups of precisions and compilers.",
        table=Grid("Speed-ups within one framework", columns, table,
                    numeric=frozenset({"speed-up", "95 % interval"})),
    )  # fmt: skip
    lead = (
        "Each framework against itself. These cases did not take turns, so a drift of the machine "
        "between them is in the number."
    )
    return Section("speedups", "Mixed precision and compilers", lead, [figure])


def is_full(value: str) -> bool:
    return not is_reduced(value)


def partner(
    document: Document, case: Document, axis: str, wanted: Callable[[str], bool] | None
) -> Document | None:
    """The first case that differs in `axis` alone and comes before, by rank or by order."""

    def twin(case: Document) -> tuple[Any, ...]:
        return case["label"], *key(case, less=(axis,))

    if wanted is not None and wanted(case[axis]):
        return None
    for other in measured(document):
        if other is case:
            break
        alike = twin(other) == twin(case) and other[axis] != case[axis]
        if alike and (wanted is None or wanted(other[axis])):
            return other
    return None


def single(
    document: Document, id_: str, title: str, lead: str, label: str, scale: float,
    value: Callable[[Document], float | None],
) -> Section | None:  # fmt: skip
    """A section of one number for each case; None where no case has it."""
    figures = []
    known = [case for case in measured(document) if value(case) is not None]
    for title_, cases in groups(known, document):
        columns = (*CASE_COLUMNS, label)
        values = [scale * (value(case) or 0.0) for case in cases]
        rows = [
            {**row(case, cases), "value": found, "text": number(found)}
            for case, found in zip(cases, values, strict=True)
        ]
        table = [
            [*case_cells(case), number(found)] for case, found in zip(cases, values, strict=True)
        ]
        figures.append(
            Figure(
                title=title_,
                chart={"kind": "bars", "rows": rows, "label": label},
                alt=f"{title} of {len(rows)} cases: {title_}.",
                table=Grid(f"{title}: {title_}", columns, table, numeric=frozenset({label})),
                folded=True,
            )
        )
    return Section(id_, title, lead, figures) if figures else None


def joules(case: Document) -> float | None:
    return (case.get("energy") or {}).get("joules_per_sample")


SINGLE: tuple[tuple[str, str, str, str, float, Callable[[Document], float | None]], ...] = (
    ("mfu", "Model FLOPs utilisation", "The workload's FLOPs by time, as a share of the fastest "
     "matrix product of any framework here, in the same precision.", "% of the peak", 100,
     lambda case: case.get("mfu")),
    ("memory", "Peak memory", "The most of all processes: of the device, or on the CPU resident.",
     "MiB", 2**-20, lambda case: case["peak_memory_bytes"]),
    ("first-step", "First step", "Tracing, compiling and tuning, once for each process; in no "
     "other number.", "s", 1, lambda case: case["first_step_seconds"]),
    ("energy", "Energy", "Of the device that computes, during the blocks.", "J per sample", 1,
     joules),
)  # fmt: skip


def rounds(document: Document) -> Section | None:
    """The raw values: every block of every process, in the order in which they ran."""
    figures = []
    cases = measured(document)
    for case in cases:
        name_ = f"{title_of(case)}: {named(case, less=hushed(document['cases']))}"
        unit = case["throughput"]["unit"]
        values = case["throughput"]["rounds"]
        columns = ("process", f"throughput of its rounds, {unit}")
        table = [
            [str(number_), " ".join(number(value) for value in of_process)]
            for number_, of_process in enumerate(values)
        ]
        figures.append(
            Figure(
                title=name_,
                chart={"kind": "rounds", "processes": values, "label": unit,
                       "series": title_of(case), "value": case["throughput"]["value"]},
                alt=f"Throughput of each round in {len(values)} processes: {name_}.",
                table=Grid(f"Rounds: {name_}", columns, table),
                folded=True,
                shut=len(cases) > MOST_OPEN,
            )
        )  # fmt: skip
    if not figures:
        return None
    lead = (
        "One dot for each block between two synchronisations, processes side by side. The line is "
        "the case's throughput. What scatters here is what the intervals are made of."
    )
    return Section("rounds", "Every round", lead, figures)
