"""One run as an article of the page, and the trends over all runs as another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.reports import history as text_history
from mbench.reports.grid import Grid
from mbench.reports.headline import against_first, headline
from mbench.reports.html import comparison, facts, measures
from mbench.reports.html.parts import Article, Chart, Chip, Figure, Section
from mbench.reports.overview import subject_line
from mbench.reports.remark_text import lines
from mbench.reports.remarks import of_kind, remarks
from mbench.reports.states import states
from mbench.reports.text import interval, number
from mbench.results.gate import PASSED
from mbench.spec.fixed_steps import Counted
from mbench.stats import FEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.reports.remarks import Remark
    from mbench.results.history import History, Point
    from mbench.results.summary import Summary

__all__ = ["article", "trends"]


def article(summary: Summary, count: int, more: Sequence[Section] = ()) -> Article:
    """The article of one run; `count` distinguishes its sections from those of other runs.

    The sections in `more` come after the comparison.
    """
    found = remarks(summary)
    made = [comparison.comparison_section(summary), *more,
            *measures.sections(summary, found), *facts.sections(summary, found)]  # fmt: skip
    sections = [replace(one, id=f"run{count}-{one.id}") for one in made if one is not None]
    chart, caption = comparison.ratios(summary)
    if chart is None:
        sections, chart, caption = without_chart(sections)
    says, sure = answer(summary)
    return Article(
        answer=says,
        about=[subject_line(summary), *map(str, lines(of_kind(found, Counted))), where(summary)],
        gate=str(summary.gate or ""),
        passed=summary.gate is not None and summary.gate.outcome == PASSED,
        sure=sure,
        chart=chart,
        caption=caption,
        chips=chips(summary, found, [section.id for section in sections]),
        sections=sections,
    )


def answer(summary: Summary) -> tuple[list[str], str]:
    """The headline in lines, and for a single answer its interval and what was measured."""
    said, compared = headline(summary), against_first(summary)
    if len(compared) > 1:
        return said.split("; "), ""
    says, _, ends = said.partition(" (95 % interval: ")
    sure = [f"95 % interval: {ends.removesuffix(')')}"] if ends else []
    figures = [text for pair in compared for text in comparison.against(summary, pair)]
    return [says], "; ".join([*sure, *figures])


def without_chart(sections: list[Section]) -> tuple[list[Section], Chart | None, str]:
    """The sections without the throughput chart if there is only one, that chart, its caption."""
    for at, section in enumerate(sections):
        if section.id.endswith("-throughput") and len(section.figures) == 1:
            (figure,) = section.figures
            bare = replace(section, figures=[replace(figure, charts=(), folded=False)])
            chart = next(iter(figure.charts), None)
            caption = measures.caption(chart) if chart else ""
            return [*sections[:at], bare, *sections[at + 1 :]], chart, caption
    return sections, None, ""


def where(summary: Summary) -> str:
    """The name of the processor, the cores, the GPUs and the day."""
    system = summary.system
    words = [system.cpu.partition(",")[0], counted(system.usable_cores, "core")]
    words += [str(gpu.get("name")) for gpu in system.gpus]
    return ", ".join(filter(None, [*words, summary.started[:10]]))


DETAILS = {
    "run": ("reproduce",), "failed": ("throughput",), "equal work": ("proof",),
    "timed work": ("doubts",), "arithmetic": ("throughput",), "repeatable": ("rounds",),
    "machine": ("disturbances", "places"), "other mbench": ("disturbances",),
}  # fmt: skip
"""Where the page says more on each state: the first of these sections that it has."""


def chips(summary: Summary, found: Sequence[Remark], ids: Sequence[str]) -> list[Chip]:
    """The states of the run, each with the section that has the details."""
    return [
        Chip(
            state.level, state.title, str(state.text),
            section=next((known for name in DETAILS.get(state.title, ()) for known in ids
                          if known.endswith(f"-{name}")), ""),
        )
        for state in states(summary, found, most=1, rest=" below")
    ]  # fmt: skip


def trends(history: History) -> Article:
    """A chart for each model and mode, a line for each case."""
    figures, metric = [], history.metric.title
    lines = text_history.lines(history)
    for title, points in lines.items():
        columns = ("run", "started", "version", metric, "95 % interval", "change", "verdict")
        data = {
            "kind": "history", "label": points[0].figure.unit, "points": [
                {"time": point.started, "version": point.version, "value": point.figure.value,
                 "low": point.figure.low, "high": point.figure.high}
                for point in points
            ],
        }  # fmt: skip
        alt = f"{metric.capitalize()} of {counted(len(points), 'run')} over time: {title}."
        figures.append(
            Figure(
                title=title if len(lines) > 1 else "",
                charts=[Chart(data, alt)],
                table=Grid(f"History: {title}", columns, [*map(trend_row, points)],
                           numeric=frozenset({metric, "95 % interval", "change"})),
                folded=True,
            )
        )  # fmt: skip
    lead = (
        f"{metric.capitalize()} of every stored run with its 95 % interval; a dashed line marks "
        "each new version. Runs were made at different times, so a machine that drifts looks like "
        "a change."
    )
    bare = sum(point.figure.low is None for point in history.points)
    notes = [f"No interval for {bare} of {len(history.points)} points: an interval needs {FEWEST} "
             "processes and mbench's own protocol."] if bare else []  # fmt: skip
    section = Section("history", f"{metric.capitalize()} over time", lead, figures, notes)
    runs = len({point.run for point in history.points})
    machines = sorted({point.cpu for point in history.points if point.cpu})
    only = [next(iter(lines))] if len(lines) == 1 else []
    return Article([counted(runs, "stored run")], [", ".join([*only, *machines])],
                   sections=[section])  # fmt: skip


def trend_row(point: Point) -> list[str]:
    speed, count = point.figure, len(point.figure.processes)
    bare = "none in this protocol" if count >= FEWEST else f"none: {counted(count, 'process')}"
    return [
        point.run, point.started[:16].replace("T", " "), point.shown_version,
        f"{number(speed.value)} {speed.unit}", interval(speed.low, speed.high) or bare,
        text_history.change(point), point.change.verdict if point.change else "",
    ]  # fmt: skip
