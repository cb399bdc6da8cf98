"""The difference of two runs for a terminal, a pull request and CI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from mbench.contract.metric import THROUGHPUT
from mbench.reports.formats import written
from mbench.reports.grid import Grid
from mbench.reports.grid import markdown as markdown_table
from mbench.reports.junit import Test, tests_of
from mbench.reports.junit import written as written_tests
from mbench.reports.terminal import Sentences, paragraphs
from mbench.reports.text import escape, number
from mbench.results.difference import REPLICATES
from mbench.results.gate import FAILED

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from mbench.results.difference import CaseDifference, Difference

__all__ = ["FORMATS", "headline"]

SHOWN = ("faster", "slower", "alike")


def headline(found: Difference) -> str:
    """The gate's line, with the runs that it is about."""
    return f"{found.gate} (from {found.base} to {found.new})"


def change(case: CaseDifference) -> str:
    """The change in speed, in percent of the base."""
    return "-" if case.ratio is None else f"{in_percent(case.ratio)} %"


def interval(case: CaseDifference) -> str:
    """The interval of the change."""
    if case.low is None or case.high is None:
        return "-"
    return f"{in_percent(case.low)} .. {in_percent(case.high)} %"


def in_percent(ratio: float) -> str:
    """A ratio as a change in percent; nothing rounds to -0.0."""
    return f"{round(100 * (ratio - 1), 1) + 0.0:+.1f}"


def versions(case: CaseDifference) -> str:
    """The first few changes; the JSON document has them all."""
    shown = [f"{c.what} {c.base} -> {c.new}" for c in case.changes[:3]]
    more = len(case.changes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def grid(found: Difference) -> Grid:
    metrics = {case.metric for case in found.cases}
    units = {case.unit for case in found.cases if case.unit}
    unit = f" {units.pop()}" if len(units) == 1 else ""
    changed = "change in speed" if metrics <= {THROUGHPUT.name, None} else "change for the better"
    columns = ("case", f"base{unit}", f"new{unit}", changed, "95 % interval", "gate")
    made = Grid(headline(found), columns, numeric=frozenset(columns[1:4]),
                whole=frozenset(columns[4:5]))  # fmt: skip
    for case in found.cases:
        figures = [number(figure) + (f" {case.unit}" if figure and not unit else "") or "-"
                   for figure in (case.base, case.new)]  # fmt: skip
        made.rows.append([case.short, *figures, change(case), interval(case), gated(case)])
    return made


def gated(case: CaseDifference) -> Text:
    """What the gate says about a case, and its verdict if that is one of `SHOWN`."""
    if case.gate is None:
        return Text("not judged")
    said = Text("FAILED", "failed") if case.gate == FAILED else Text(case.gate)
    return said.append(f", {case.verdict}" if case.verdict in SHOWN else "")


def remarks(found: Difference) -> list[str]:
    """How to read the intervals, what changed overall and per case, and what only one run has."""
    count = found.intervals
    together = f"; all {count} hold together with 95 % confidence" if count > 1 else ""
    said = [f"All cases: {found.shared}."] if len(found.cases) > 1 else [f"{found.shared}."]
    said += [f"The 95 % intervals are over {found.replicates}{together}."] if count else []
    if count and found.replicates == REPLICATES[0]:
        said.append(
            "They do not cover what lasts for a whole run: give three or more runs of each."
        )
    said += [f"{c.what}: {c.base} -> {c.new}" for c in found.changes]
    for case in found.cases:
        for text in filter(None, (case.reason, versions(case))):
            said.append(f"{case.short}: {text}")
    return said + [f"only in {one.run}: {one.case}" for one in found.unmatched]


def table(found: Difference) -> RenderableType:
    return paragraphs([grid(found), Sentences(remarks(found))])


def markdown(found: Difference) -> str:
    lines = [markdown_table([grid(found)]), *(f"- {escape(line)}" for line in remarks(found))]
    return "\n".join(lines).rstrip("\n") + "\n"


def junit(found: Difference) -> str:
    """One test per case: see `mbench.reports.junit.tests_of`. A case that was not measured in the
    base is skipped.
    """
    said = {case.case: "; ".join(filter(None, (
        f"{change(case)} ({interval(case)})", case.reason, versions(case),
    ))) for case in found.cases}  # fmt: skip
    tests = tests_of(found.gate, [said.get(case.case, "missing") for case in found.gate.cases])
    tests += [Test(case=case.case, message=said[case.case], tag="skipped")
              for case in found.cases if case.gate is None]  # fmt: skip
    return written_tests(f"mbench diff {found.base} {found.new}", "mbench.diff", tests)


def json(found: Difference) -> str:
    return written(found.to_json())


FORMATS: dict[str, Callable[[Difference], RenderableType]] = {
    "table": table, "markdown": markdown, "json": json, "junit": junit,
}  # fmt: skip
