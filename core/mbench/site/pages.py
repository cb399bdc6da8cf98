"""The pages of a model, a framework and a machine, from the parts of a run's page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from mbench.console import counted
from mbench.contract.axes import name
from mbench.reports.grid import Grid
from mbench.reports.html import document, options
from mbench.reports.html.parts import LONG, Article, Chart, Figure, Section, Within
from mbench.reports.text import number
from mbench.site.names import slug
from mbench.site.publish import LINKS
from mbench.site.timeline import figure_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.results.case_summary import CaseSummary
    from mbench.site.matrix import Cell, Row
    from mbench.site.publish import Published
    from mbench.site.timeline import Line, Step

__all__ = ["Subject", "page_of"]

MOST_CHARTS = 60
"""Most lines of a page that are drawn, those with the most runs first."""


@dataclass(frozen=True)
class Subject:
    """What a page is about, and all that the site knows of it."""

    folder: str
    """models, frameworks or machines."""
    title: str
    key: str
    """What its file is named after."""
    about: Sequence[str]
    rows: Sequence[Row]
    lines: Sequence[Line]
    steps: Sequence[Step]
    runs: Sequence[Published]

    @property
    def page(self) -> str:
        return place_of(self.folder, self.key)


def place_of(folder: str, key: str) -> str:
    return f"{folder}/{slug(key)}.html"


def page_of(subject: Subject) -> str:
    """The whole page."""
    made = (ratios(subject.rows), speeds(subject.lines), over_time(subject),
            all_runs(subject.runs))  # fmt: skip
    article = Article(
        answer=[subject.title],
        about=[*subject.about, summed(subject)],
        sections=[section for section in made if section is not None],
    )
    return document([article], within=Within("../", LINKS, wide=True))


def summed(subject: Subject) -> str:
    runs, machines = len(subject.runs), len({run.machine for run in subject.runs})
    days = sorted(run.day for run in subject.runs)
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"{counted(runs, 'run')} on {counted(machines, 'machine')}, {span}"


def link(text: str, place: str) -> str:
    """A link to a page of the site, from a page in one of its folders."""
    return Markup('<a href="../{}">{}</a>').format(place, text)


def to_run(run: Published) -> str:
    return link(run.summary.run, run.page)


def to_day(run: Published) -> str:
    """A link to a run, with the day on which it was measured as its text."""
    return Markup('<a href="../{}"><time>{}</time></a>').format(run.page, run.day)


def with_version(case: CaseSummary) -> str:
    known = link(case.label, place_of("frameworks", case.framework))
    return Markup("<span>{} {}</span>").format(known, case.version or "")


def to_raw(run: Published) -> str:
    return link("raw", run.raw)


RATIOS = ("case", "machine", "framework", "baseline", "ratio", "95 % interval", "verdict",
          "equal work", "notes", "run", "raw")  # fmt: skip


def ratios(rows: Sequence[Row]) -> Section | None:
    """The latest ratio of each case, machine and framework."""
    cells = [(row, cell) for row in rows for cell in row.cells]
    if not cells:
        return None
    grid = Grid("Latest ratios", RATIOS, [ratio_cells(row, cell) for row, cell in cells],
                numeric=frozenset({"ratio", "95 % interval"}))  # fmt: skip
    lead = (
        "How many times as fast as the baseline, in the latest run on each machine. Where no ratio "
        "is shown, the verdict says why."
    )
    empty = [column for at, column in enumerate(grid.columns) if not any(r[at] for r in grid.rows)]
    return Section("ratios", "Ratios", lead, [Figure(table=grid.without(*empty))])


def ratio_cells(row: Row, cell: Cell) -> list[str]:
    case, base = cell.case, cell.baseline
    return [
        link(f"{row.model} {row.mode}, {row.words}", place_of("models", row.model)),
        link(row.machine.host, row.machine.page),
        with_version(case),
        with_version(base),
        "" if cell.why_not else cell.ratio,
        "" if cell.why_not else cell.ends,
        cell.reason or str(cell.pair.verdict),
        cell.pair.equal_work,
        cell.notes,
        to_day(cell.run), to_raw(cell.run),
    ]  # fmt: skip


SPEEDS = ("case", "machine", "framework", "throughput", "95 % interval", "step ms", "peak MiB",
          "run")  # fmt: skip


def speeds(lines: Sequence[Line]) -> Section | None:
    """The latest throughput of each case, framework and machine."""
    rows = []
    for line in lines:
        point, run = line.points[-1], line.runs[-1]
        case = next(
            one for one in run.summary.cases
            if one.label == point.label and one.axes == point.axes
        )  # fmt: skip
        times, peak = case.step_time_ms, case.device_memory_bytes or case.peak_memory_bytes
        rows.append([
            link(name(point.axes), place_of("models", point.axes.model)),
            link(line.machine.host, line.machine.page),
            with_version(case), *figure_cells(point),
            number(times.mean if times else None), f"{peak / 2**20:.0f}" if peak else "",
            to_day(run),
        ])  # fmt: skip
    if not rows:
        return None
    numeric = frozenset({"throughput", "95 % interval", "step ms", "peak MiB"})
    grid = Grid("Latest throughput", SPEEDS, rows, numeric=numeric)
    lead = "Work per second in the latest run; the 95 % interval is over fresh processes."
    return Section("speeds", "Throughput", lead, [Figure(table=grid, folded=len(rows) > LONG)])


HISTORY = ("run", "started", "version", "throughput", "95 % interval", "change", "step")


def over_time(subject: Subject) -> Section | None:
    """A chart and a table for each case with more than one run, and the steps found in all."""
    several = [line for line in subject.lines if len(line.points) > 1]
    if not several:
        return None
    drawn = sorted(several, key=lambda line: -len(line.points))[:MOST_CHARTS]
    found = {id(step.point): step for step in subject.steps}
    figures = []
    for line in several:
        if line not in drawn:
            continue
        points = [
            {"time": point.started, "version": point.version, "value": point.figure.value,
             "low": point.figure.low, "high": point.figure.high}
            for point in line.points
        ]  # fmt: skip
        rows = [
            [to_run(run), point.started[:16].replace("T", " "), point.version or "",
             *figure_cells(point), change_of(point.change),
             found[id(point)].says.rpartition(": ")[2] if id(point) in found else ""]
            for point, run in zip(line.points, line.runs, strict=True)
        ]  # fmt: skip
        data = {"kind": "history", "label": line.points[0].figure.unit, "points": points}
        alt = f"Throughput of {counted(len(points), 'run')} over time: {line.title}."
        table = Grid(f"History: {line.title}", HISTORY, rows,
                     numeric=frozenset({"throughput", "95 % interval", "change"}))  # fmt: skip
        chart = Chart(data, alt)
        figures.append(Figure(title=line.title, charts=[chart], table=table, folded=True))
    lead = (
        "Throughput of every run with its 95 % interval; a dashed line marks each new version. A "
        "step is a change that noise does not explain, with all changes of the line taken "
        "together, and that other runs before and after it confirm."
    )
    notes = [f"Step found: {step.says}" for step in subject.steps]
    if rest := len(several) - len(drawn):
        notes.append(f"{counted(rest, 'more case')} with several runs: see the CSV file.")
    return Section("history", "Over time", lead, figures, notes)


def change_of(change: object) -> str:
    ratio = getattr(change, "ratio", None)
    return "" if ratio is None else f"{100 * (ratio - 1):+.1f} %"


RUNS = ("run", "machine", "answer", "mbench", "raw", "repeat it")


def all_runs(runs: Sequence[Published]) -> Section:
    """Every run, the latest first."""
    rows = [
        [to_run(run), link(run.machine.host, run.machine.page),
         run.integrity.reason or run.headline, run.summary.mbench, to_raw(run),
         Markup("<span>{}</span>").format(options(run.command))]
        for run in reversed(runs)
    ]  # fmt: skip
    return Section("runs", "Runs", figures=[Figure(table=Grid("Runs", RUNS, rows))])
