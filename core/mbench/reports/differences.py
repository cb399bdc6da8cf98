"""The difference of two runs for a terminal, a pull request and CI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from rich.text import Text

from mbench.console import counted, printable
from mbench.reports import json
from mbench.reports.grid import Grid
from mbench.reports.grid import markdown as markdown_table
from mbench.reports.terminal import Sentences, paragraphs
from mbench.reports.text import escape, number

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["FORMATS", "headline"]

Document = dict[str, Any]


def headline(document: Document) -> str:
    """The whole diff in one sentence."""
    counts = dict.fromkeys(("slower", "faster", "alike", "no difference shown", "undetermined",
                            "not comparable"), 0)  # fmt: skip
    for case in document["cases"]:
        counts[case["verdict"]] += 1
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    found = document["regressions"]
    regressions = counted(found, "regression") if found else "no regression"
    if open_ := document["undetermined"]:
        regressions += f" shown, {open_} of {len(document['cases'])} undetermined,"
    limit = f"a regression is slower by more than {number(100 * document['threshold'], 3)} %"
    return f"{regressions} from {document['base']} to {document['new']}: {said} ({limit})"


def change(case: Document) -> str:
    """The change in speed with its interval, in percent of the base."""
    if case["ratio"] is None:
        return "-"
    said = f"{100 * (case['ratio'] - 1):+.1f} %"
    if case["low"] is not None:
        low, high = (f"{100 * (case[end] - 1):+.1f}" for end in ("low", "high"))
        said += f" ({low} .. {high})"
    return said


def versions(case: Document) -> str:
    """The first few changes; the JSON document has them all."""
    shown = [f"{c['what']} {c['base']} -> {c['new']}" for c in case["changes"][:3]]
    more = len(case["changes"]) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def grid(document: Document) -> Grid:
    columns = ("case", "base", "new", "change in speed", "verdict")
    made = Grid(headline(document), columns)
    for case in document["cases"]:
        verdict = Text(case["verdict"])
        if case["regression"]:
            verdict.append(", ").append("REGRESSION", "failed")
        rates = [f"{number(case[side])} {case['unit']}" if case[side] else "-"
                 for side in ("base", "new")]  # fmt: skip
        made.rows.append([case["case"], *rates, change(case), verdict])
    return made


def remarks(document: Document) -> list[str]:
    """How to read the intervals, what changed for all and for each, what is in one run only."""
    count = document["intervals"]
    together = f"; all {count} hold together with 95 %" if count > 1 else ""
    said = [f"The intervals are of 95 % over processes{together}."] if count else []
    said += [f"{c['what']}: {c['base']} -> {c['new']}" for c in document["changes"]]
    for case in document["cases"]:
        for text in filter(None, (case["reason"], versions(case))):
            said.append(f"{case['case']}: {text}")
    return said + [f"only in {one['run']}: {one['case']}" for one in document["unmatched"]]


def table(document: Document) -> RenderableType:
    """The headline first and last."""
    said, last = Sentences(remarks(document)), Sentences([headline(document)])
    return paragraphs([grid(document), said, last])


def markdown(document: Document) -> str:
    lines = [markdown_table([grid(document)]), *(f"- {escape(line)}" for line in remarks(document))]
    return "\n".join(lines).rstrip("\n") + "\n"


def junit(document: Document) -> str:
    """One test case per case: regressions fail, what could not be judged is skipped."""
    cases = document["cases"]
    unjudged = [case for case in cases if not case["judged"]]
    suite = ElementTree.Element(
        "testsuite",
        name=printable(f"mbench diff {document['base']} {document['new']}"),
        tests=str(len(cases)),
        failures=str(document["regressions"]),
        errors="0",
        skipped=str(len(unjudged)),
    )
    for case in cases:
        test = ElementTree.SubElement(
            suite, "testcase", classname="mbench.diff", name=printable(case["case"])
        )
        said = printable(
            "; ".join(filter(None, (case["verdict"], change(case), case["reason"], versions(case))))
        )
        if case["regression"]:
            ElementTree.SubElement(test, "failure", message=said)
        elif not case["judged"]:
            ElementTree.SubElement(test, "skipped", message=said)
        else:
            ElementTree.SubElement(test, "system-out").text = said
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


FORMATS = {"table": table, "markdown": markdown, "json": json.render, "junit": junit}
