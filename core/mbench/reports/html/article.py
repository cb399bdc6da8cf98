"""One run as an article of the page, and the trends over all runs as another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mbench.console import counted
from mbench.contract.axes import AXES, alike, hushed
from mbench.reports import headline
from mbench.reports import history as text_history
from mbench.reports.grid import Grid
from mbench.reports.html import comparison, facts, measures
from mbench.reports.html.parts import Article, Chart, Figure, Section
from mbench.reports.text import interval, number
from mbench.results.proof import EQUAL, SHOWN
from mbench.stats import FEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["article", "trends"]

Document = dict[str, Any]


def article(document: Document, count: int, more: Sequence[Section] = ()) -> Article:
    """The article of one run; `count` distinguishes its sections from those of other runs.

    The sections in `more` come after the comparison.
    """
    made = [comparison.comparison_section(document), *more,
            *measures.sections(document), *facts.sections(document)]  # fmt: skip
    sections = [replace(one, id=f"run{count}-{one.id}") for one in made if one is not None]
    return Article(
        title=headline.headline(document),
        about=about(document),
        badges=comparison.badges(document),
        warnings=warnings(document),
        sections=sections,
        proof=next((section.id for section in sections if section.id.endswith("-proof")), ""),
    )


def about(document: Document) -> list[str]:
    """What all cases share, the machine and the day."""
    cases, words = document["cases"], []
    if cases:
        differ = {axis.name for axis in AXES} - alike(cases)
        words.append(headline.named(cases[0], less={"compiler", *differ, *hushed(cases)}))
    words.append(str(document["system"].get("cpu") or ""))
    if cores := document["system"].get("usable_cores"):
        words.append(counted(cores, "core"))
    words += [str(gpu.get("name")) for gpu in document["system"].get("gpus") or []]
    words.append(str(document["started"])[:10])
    return [word for word in words if word]


def warnings(document: Document) -> list[str]:
    """What a reader must know before believing a number."""
    found = []
    if document["cut_off"]:
        found.append("The run's file is cut off in the middle of a line. What is whole is shown.")
    if document["status"] != "complete":
        found.append(f"The run is {document['status']}: not everything was measured.")
    states = [one["equal_work"] for one in document["comparisons"] if one["verdict"]]
    if unproven := sum(state not in EQUAL for state in states):
        found.append(f"{unproven} of the ratios are of work that was not proven equal.")
    if shown := states.count(SHOWN):
        found.append(f"{shown} of the ratios are of work that was {SHOWN} alone.")
    pasts = [each["past"] for each in document["comparisons"]]
    if contradicted := sum(any(one["contradicts"] for one in past) for past in pasts):
        found.append(f"Earlier runs of this machine contradict {contradicted} of the ratios.")
    if any(case["disturbances"] for case in document["cases"]):
        found.append("The machine was disturbed while it measured; see Disturbances.")
    if any(not case["standard"] for case in document["cases"]):
        found.append("Some sizes are not those that the models are known by.")
    return found


def trends(history: Document) -> Article:
    """A chart for each model and mode, a line for each case."""
    figures = []
    lines = text_history.lines(history)
    for title, points in lines.items():
        columns = ("run", "started", "version", "throughput", "95 % interval", "change", "verdict")
        rows = [
            [
                point["run"], str(point["started"])[:16].replace("T", " "), point["version"] or "",
                f"{number(point['throughput']['value'])} {point['throughput']['unit']}",
                interval(point["throughput"]["low"], point["throughput"]["high"])
                or without_interval(point["throughput"]["processes"]),
                text_history.change(point), (point["change"] or {}).get("verdict", ""),
            ]
            for point in points
        ]  # fmt: skip
        data = {
            "kind": "history", "label": points[0]["throughput"]["unit"], "points": [
                {"time": point["started"], "version": point["version"],
                 **{end: point["throughput"][end] for end in ("value", "low", "high")}}
                for point in points
            ],
        }  # fmt: skip
        alt = f"Throughput of {counted(len(points), 'run')} over time: {title}."
        figures.append(
            Figure(
                title=title if len(lines) > 1 else "",
                charts=[Chart(data, alt)],
                table=Grid(f"History: {title}", columns, rows,
                           numeric=frozenset({"throughput", "95 % interval", "change"})),
                folded=True,
            )
        )  # fmt: skip
    lead = (
        "Throughput of every stored run with its 95 % interval; a new version starts a new mark. "
        "Runs were made at different times, so a machine that drifts looks like a change."
    )
    bare = sum(point["throughput"]["low"] is None for point in history["points"])
    notes = [f"{bare} of {len(history['points'])} points have no interval: it takes {FEWEST} "
             "processes and mbench's own protocol."] if bare else []  # fmt: skip
    section = Section("history", "Throughput over time", lead, figures, notes)
    runs = len({point["run"] for point in history["points"]})
    machines = sorted({str(point["cpu"]) for point in history["points"] if point["cpu"]})
    only = [next(iter(lines))] if len(lines) == 1 else []
    return Article(f"{runs} stored run{'s' * (runs != 1)}", [*only, *machines],
                   sections=[section])  # fmt: skip


def without_interval(processes: list[float]) -> str:
    count = len(processes)
    if count >= FEWEST:
        return "none in this protocol"
    return f"none: {count} process{'es' * (count > 1)}"
