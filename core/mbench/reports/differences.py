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
    made = Grid(headline(found), ("case", "base", "new", changed, "gate"))
    for case in found.cases:
        rates = [f"{number(rate)} {case.unit}" if rate else "-" for rate in (case.base, case.new)]
        made.rows.append([case.case, *rates, change(case), gated(case)])
    return made


def gated(case: CaseDifference) -> Text:
    """What the gate says of a case, and what else is shown."""
    if case.gate is None:
        return Text("not judged")
    said = Text("FAILED", "failed") if case.gate == FAILED else Text(case.gate)
    return said.append(f", {case.verdict}" if case.verdict in SHOWN else "")


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
    return paragraphs([grid(found), Sentences(remarks(found))])


def markdown(found: Difference) -> str:
    lines = [markdown_table([grid(found)]), *(f"- {escape(line)}" for line in remarks(found))]
    return "\n".join(lines).rstrip("\n") + "\n"


def junit(found: Difference) -> str:
    """One test per case: see `mbench.reports.junit.tests_of`. What was not measured in the base is
    skipped.
    """
    said = {case.case: "; ".join(filter(None, (change(case), case.reason, versions(case))))
            for case in found.cases}  # fmt: skip
    tests = tests_of(found.gate, [said.get(case.case, "missing") for case in found.gate.cases])
    tests += [Test(case=case.case, message=said[case.case], tag="skipped")
              for case in found.cases if case.gate is None]  # fmt: skip
    return written_tests(f"mbench diff {found.base} {found.new}", "mbench.diff", tests)


def json(found: Difference) -> str:
    return written(found.to_json())


FORMATS: dict[str, Callable[[Difference], RenderableType]] = {
    "table": table, "markdown": markdown, "json": json, "junit": junit,
}  # fmt: skip
