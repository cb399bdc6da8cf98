"""One run as an article of the page, and the trends over all runs as another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.contract.axes import AXES, alike
from mbench.reports import history as text_history
from mbench.reports.cases import axes_of, named, unspoken
from mbench.reports.grid import Grid
from mbench.reports.headline import headline
from mbench.reports.html import comparison, facts, measures
from mbench.reports.html.parts import Article, Chart, Figure, Section
from mbench.reports.remarks import remarks
from mbench.reports.text import interval, number
from mbench.results.proof import EQUAL, SHOWN
from mbench.stats import FEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.results.history import History, Point
    from mbench.results.summary import Summary

__all__ = ["article", "trends"]


def article(summary: Summary, count: int, more: Sequence[Section] = ()) -> Article:
    """The article of one run; `count` distinguishes its sections from those of other runs.

    The sections in `more` come after the comparison.
    """
    found = remarks(summary)
    made = [comparison.comparison_section(summary, found), *more,
            *measures.sections(summary, found), *facts.sections(summary, found)]  # fmt: skip
    sections = [replace(one, id=f"run{count}-{one.id}") for one in made if one is not None]
    return Article(
        title=headline(summary),
        about=about(summary),
        badges=comparison.badges(summary),
        warnings=warnings(summary),
        sections=sections,
        proof=next((section.id for section in sections if section.id.endswith("-proof")), ""),
    )


def about(summary: Summary) -> list[str]:
    """What the gate says, what all cases share, the machine and the day."""
    cases, system = summary.cases, summary.system
    words = [str(summary.gate)] if summary.gate else []
    if cases:
        differ = {axis.name for axis in AXES} - alike(axes_of(cases))
        words.append(named(cases[0], less={"compiler", *differ, *unspoken(cases)}))
    words += [system.cpu, counted(system.usable_cores, "core")]
    words += [str(gpu.get("name")) for gpu in system.gpus]
    words.append(summary.started[:10])
    return [word for word in words if word]


def warnings(summary: Summary) -> list[str]:
    """What a reader must know before believing a number."""
    found = []
    if summary.cut_off:
        found.append("The run's file is cut off in the middle of a line. What is whole is shown.")
    if summary.status != "complete":
        found.append(f"The run is {summary.status}: not everything was measured.")
    states = [pair.equal_work for pair in summary.comparisons if pair.verdict]
    if unproven := sum(state not in EQUAL for state in states):
        found.append(f"{unproven} of the ratios are of work that was not proven equal.")
    if shown := states.count(SHOWN):
        found.append(f"{shown} of the ratios are of work that was {SHOWN} alone.")
    pasts = [pair.past for pair in summary.comparisons]
    if contradicted := sum(any(one.contradicts for one in past) for past in pasts):
        found.append(f"Earlier runs of this machine contradict {contradicted} of the ratios.")
    if any(case.disturbances for case in summary.cases):
        found.append("The machine was disturbed while it measured; see Disturbances.")
    if any(not case.standard for case in summary.cases):
        found.append("Some sizes are not the models' standard sizes.")
    return found


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
        f"{metric.capitalize()} of every stored run with its 95 % interval; a new version starts a "
        "new mark. Runs were made at different times, so a machine that drifts looks like a change."
    )
    bare = sum(point.figure.low is None for point in history.points)
    notes = [f"{bare} of {len(history.points)} points have no interval: it takes {FEWEST} "
             "processes and mbench's own protocol."] if bare else []  # fmt: skip
    section = Section("history", f"{metric.capitalize()} over time", lead, figures, notes)
    runs = len({point.run for point in history.points})
    machines = sorted({point.cpu for point in history.points if point.cpu})
    only = [next(iter(lines))] if len(lines) == 1 else []
    return Article(f"{runs} stored run{'s' * (runs != 1)}", [*only, *machines],
                   sections=[section])  # fmt: skip


def trend_row(point: Point) -> list[str]:
    speed, count = point.figure, len(point.figure.processes)
    bare = "none in this protocol" if count >= FEWEST else f"none: {counted(count, 'process')}"
    return [
        point.run, point.started[:16].replace("T", " "), point.version or "",
        f"{number(speed.value)} {speed.unit}", interval(speed.low, speed.high) or bare,
        text_history.change(point), point.change.verdict if point.change else "",
    ]  # fmt: skip
