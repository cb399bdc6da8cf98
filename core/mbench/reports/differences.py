"""The difference of two runs for a terminal, a pull request and CI."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from rich.text import Text

from mbench.console import counted, printable
from mbench.contract.metric import THROUGHPUT
from mbench.reports.formats import written
from mbench.reports.grid import Grid
from mbench.reports.grid import markdown as markdown_table
from mbench.reports.terminal import Sentences, paragraphs
from mbench.reports.text import escape, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from mbench.results.difference import CaseDifference, Difference

__all__ = ["FORMATS", "headline"]


def headline(found: Difference) -> str:
    """The whole diff in one sentence."""
    counts = dict.fromkeys(("slower", "faster", "alike", "no difference shown", "undetermined",
                            "not comparable"), 0)  # fmt: skip
    for case in found.cases:
        counts[case.verdict] += 1
    said = ", ".join(f"{times} {verdict}" for verdict, times in counts.items() if times)
    count = found.regressions
    regressions = counted(count, "regression") if count else "no regression"
    if open_ := found.undetermined:
        regressions += f" shown, {open_} of {len(found.cases)} undetermined,"
    limit = f"a regression is slower by more than {number(100 * found.threshold, 3)} %"
    return f"{regressions} from {found.base} to {found.new}: {said} ({limit})"


def change(case: CaseDifference) -> str:
    """The change in speed with its interval, in percent of the base."""
    if case.ratio is None:
        return "-"
    said = f"{100 * (case.ratio - 1):+.1f} %"
    if case.low is not None and case.high is not None:
        said += f" ({100 * (case.low - 1):+.1f} .. {100 * (case.high - 1):+.1f})"
    return said


def versions(case: CaseDifference) -> str:
    """The first few changes; the JSON document has them all."""
    shown = [f"{c.what} {c.base} -> {c.new}" for c in case.changes[:3]]
    more = len(case.changes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def grid(found: Difference) -> Grid:
    metrics = {case.metric for case in found.cases}
    changed = "change in speed" if metrics <= {THROUGHPUT.name, None} else "change for the better"
    columns = ("case", "base", "new", changed, "verdict")
    made = Grid(headline(found), columns)
    for case in found.cases:
        verdict = Text(case.verdict)
        if case.regression:
            verdict.append(", ").append("REGRESSION", "failed")
        rates = [f"{number(rate)} {case.unit}" if rate else "-" for rate in (case.base, case.new)]
        made.rows.append([case.case, *rates, change(case), verdict])
    return made


def remarks(found: Difference) -> list[str]:
    """How to read the intervals, what changed for all and for each, what is in one run only."""
    count = found.intervals
    together = f"; all {count} hold together with 95 %" if count > 1 else ""
    said = [f"The intervals are of 95 % over processes{together}."] if count else []
    said += [f"{c.what}: {c.base} -> {c.new}" for c in found.changes]
    for case in found.cases:
        for text in filter(None, (case.reason, versions(case))):
            said.append(f"{case.case}: {text}")
    return said + [f"only in {one.run}: {one.case}" for one in found.unmatched]


def table(found: Difference) -> RenderableType:
    """The headline first and last."""
    said, last = Sentences(remarks(found)), Sentences([headline(found)])
    return paragraphs([grid(found), said, last])


def markdown(found: Difference) -> str:
    lines = [markdown_table([grid(found)]), *(f"- {escape(line)}" for line in remarks(found))]
    return "\n".join(lines).rstrip("\n") + "\n"


def junit(found: Difference) -> str:
    """One test case per case: regressions fail, what could not be judged is skipped."""
    cases = found.cases
    unjudged = [case for case in cases if not case.judged]
    suite = ElementTree.Element(
        "testsuite",
        name=printable(f"mbench diff {found.base} {found.new}"),
        tests=str(len(cases)),
        failures=str(found.regressions),
        errors="0",
        skipped=str(len(unjudged)),
    )
    for case in cases:
        test = ElementTree.SubElement(
            suite, "testcase", classname="mbench.diff", name=printable(case.case)
        )
        said = printable(
            "; ".join(filter(None, (case.verdict, change(case), case.reason, versions(case))))
        )
        if case.regression:
            ElementTree.SubElement(test, "failure", message=said)
        elif not case.judged:
            ElementTree.SubElement(test, "skipped", message=said)
        else:
            ElementTree.SubElement(test, "system-out").text = said
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def json(found: Difference) -> str:
    return written(found.to_json())


FORMATS: dict[str, Callable[[Difference], RenderableType]] = {
    "table": table, "markdown": markdown, "json": json, "junit": junit,
}  # fmt: skip
