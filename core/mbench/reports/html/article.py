"""One run as an article of the page, and the trends over all runs as another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mbench.reports import history as text_history
from mbench.reports.grid import Grid
from mbench.reports.html import facts, headline, measures
from mbench.reports.html.parts import Article, Figure, Section
from mbench.reports.text import interval, number

__all__ = ["article", "trends"]

Document = dict[str, Any]


def article(document: Document, count: int) -> Article:
    """The article of one run; `count` tells its sections from those of other runs."""
    sections = [headline.comparison_section(document), *measures.sections(document),
                *facts.sections(document)]  # fmt: skip
    return Article(
        title=headline.headline(document),
        about=about(document),
        badges=headline.badges(document),
        warnings=warnings(document),
        sections=[
            replace(section, id=f"run{count}-{section.id}")
            for section in sections
            if section is not None
        ],
    )


def about(document: Document) -> str:
    """What all comparisons share, the machine and the day."""
    subjects = {headline.subject(document, one) for one in document["comparisons"]}
    words = [subjects.pop()] if len(subjects) == 1 else []
    words += [str(document["system"].get("cpu") or "")]
    if cores := document["system"].get("usable_cores"):
        words.append(f"{cores} cores")
    words += [str(gpu.get("name")) for gpu in document["system"].get("gpus") or []]
    words.append(str(document["started"])[:10])
    return " · ".join(filter(None, words))


def warnings(document: Document) -> list[str]:
    """What a reader must know before believing a number."""
    found = []
    if document["cut_off"]:
        found.append("The run's file is cut off in the middle of a line. What is whole is shown.")
    if document["status"] != "complete":
        found.append(f"The run is {document['status']}: not everything was measured.")
    unproven = [c for c in document["comparisons"] if c["equal_work"] != "proven" and c["verdict"]]
    if unproven:
        found.append(f"{len(unproven)} of the ratios are of work that was not proven equal.")
    if any(case["disturbances"] for case in document["cases"]):
        found.append("The machine was disturbed while it measured; see Disturbances.")
    if any(not case["standard"] for case in document["cases"]):
        found.append("Some sizes are not those that the models are known by.")
    return found


def trends(history: Document) -> Article:
    """A chart for each model and mode, a line for each case."""
    figures = []
    for title, points in text_history.lines(history).items():
        columns = ("run", "started", "version", "throughput", "95 % interval", "change", "verdict")
        rows = [
            [
                point["run"], str(point["started"]), point["version"] or "",
                f"{number(point['throughput']['value'])} {point['throughput']['unit']}",
                interval(point["throughput"]["low"], point["throughput"]["high"]),
                text_history.change(point), (point["change"] or {}).get("verdict", ""),
            ]
            for point in points
        ]  # fmt: skip
        chart = {
            "kind": "history", "label": points[0]["throughput"]["unit"], "points": [
                {"time": point["started"], "version": point["version"],
                 **{end: point["throughput"][end] for end in ("value", "low", "high")}}
                for point in points
            ],
        }  # fmt: skip
        figures.append(
            Figure(
                title=title,
                chart=chart,
                alt=f"Throughput of {len(points)} runs over time: {title}.",
                table=Grid(f"History: {title}", columns, rows,
                            numeric=frozenset({"throughput", "95 % interval", "change"})),
                folded=True,
            )
        )  # fmt: skip
    lead = (
        "Throughput of every stored run with its 95 % interval; a new version starts a new mark. "
        "Runs were made at different times, so a machine that drifts looks like a change."
    )
    section = Section("history", "Throughput over time", lead, figures)
    runs = len({point["run"] for point in history["points"]})
    return Article(f"{runs} stored runs", "", sections=[section])
