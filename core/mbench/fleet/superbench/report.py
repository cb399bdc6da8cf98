"""What rules found, for people and for other tools: the answer first, then which nodes and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted, printable
from mbench.fleet.sheet import SHOWN, Sheet, document
from mbench.fleet.superbench.verdicts import ACCEPTED, CODES, DEFECTIVE, NOT_JUDGED
from mbench.fleet.superbench.words import few, short
from mbench.reports.grid import Grid, write
from mbench.reports.junit import Test, written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from mbench.fleet.superbench.summary import RuleSummary
    from mbench.fleet.superbench.verdicts import NodeVerdict, Remark, RuleDiagnosis

__all__ = ["FORMATS", "SUMMARY_FORMATS", "answer"]


def answer(found: RuleDiagnosis) -> str:
    """The verdict on all nodes in one line."""
    total = counted(len(found.nodes), "node")
    bad, unknown = found.named(DEFECTIVE), found.named(NOT_JUDGED)
    parts = []
    if bad:
        parts.append(f"{len(bad)} of {total} {'is' if len(bad) == 1 else 'are'} defective by "
                     f"the rules: {few(bad)}")  # fmt: skip
    if unknown:
        parts.append(f"{len(unknown)} of {total} cannot be judged: {few(unknown)}")
    return "; ".join(parts) or f"all {total} pass the rules"


def node_rows(found: RuleDiagnosis) -> list[list[str]]:
    """Nodes that need attention, the defective first."""
    rows = []
    for verdict in (DEFECTIVE, NOT_JUDGED):
        for node in found.nodes:
            if node.verdict == verdict:
                rows.append([short(node.name), verdict, short(", ".join(node.categories) or "-"),
                             str(len(node.issues)), why(node)])  # fmt: skip
    return rows


def why(node: NodeVerdict) -> str:
    said = [f"{short(one.rule)}: {one.text}" for one in node.issues]
    said += [f"{one.code} {short(one.rule)}: {short(one.metric)}: {one.reason}".replace(": ?:", ":")
             for one in node.unjudged]  # fmt: skip
    more = len(said) - 3
    return "; ".join(said[:3]) + (f"; and {more:,} more" if more > 0 else "")


def grids(found: RuleDiagnosis) -> list[Grid]:
    made = []
    if rows := node_rows(found):
        made.append(Grid("Nodes", ("node", "verdict", "category", "issues", "why"), rows[:SHOWN],
                         all_in=None, whole=frozenset({"verdict"})))  # fmt: skip
    if found.remarks:
        made.append(remark_grid(found.remarks))
    return made


def remark_grid(remarks: Sequence[Remark]) -> Grid:
    rows = [[one.code, CODES[one.code], one.text, few(one.nodes) if one.nodes else ""]
            for one in remarks]  # fmt: skip
    return Grid("Where this differs from SuperBench", ("code", "difference", "rule", "nodes"),
                rows[:SHOWN], all_in=None, whole=frozenset({"code"}))  # fmt: skip


def lines(found: RuleDiagnosis) -> list[str]:
    said = f"rules: {short(found.rules)}; results: {short(found.results)}"
    if found.baseline:
        said += f"; baseline: {short(found.baseline)}"
    accepted = len(found.named(ACCEPTED))
    more = max(len(node_rows(found)), len(found.remarks)) > SHOWN
    cut = f"the first {SHOWN} rows of each table; --format json has them all"
    return [f"{said}; {accepted:,} accepted", *[cut] * more]


def sheet(found: RuleDiagnosis) -> Sheet:
    return Sheet(answer=answer(found), grids=grids(found), lines=lines(found), error=[DEFECTIVE],
                 warning=[NOT_JUDGED])  # fmt: skip


def junit(found: RuleDiagnosis) -> str:
    """A test case for each node; a node that is not judged is an error, not a success."""
    tags = {DEFECTIVE: "failure", NOT_JUDGED: "error", ACCEPTED: ""}
    tests = [Test(case=short(node.name), message=why(node) or node.verdict, tag=tags[node.verdict])
             for node in found.nodes]  # fmt: skip
    return written("mbench fleet", "rules", tests)


FORMATS: dict[str, Callable[[RuleDiagnosis], RenderableType]] = {
    "table": lambda found: sheet(found).table(),
    "json": lambda found: document({"answer": answer(found), **found.to_json()}),
    "markdown": lambda found: sheet(found).markdown(),
    "html": lambda found: sheet(found).page(),
    "junit": junit,
}


COLUMNS = ("category", "metric", "statistic", "value", "values")


def summary_grids(found: RuleSummary) -> list[Grid]:
    rows = [[printable(one.category), printable(one.metric), one.statistic,
             "" if one.value is None else f"{one.value:.6g}", one.values]
            for one in found.rows]  # fmt: skip
    title = f"{counted(found.nodes, 'node')} of {short(found.results)}"
    made = [Grid(title, COLUMNS, rows, numeric=frozenset({"value"}), all_in=None)]
    return [*made, remark_grid(found.remarks)] if found.remarks else made


def summary_csv(found: RuleSummary) -> RenderableType:
    rows = [[one.category, one.rule, one.metric, one.statistic, one.value, one.values]
            for one in found.rows]  # fmt: skip
    columns = ("category", "rule", "metric", "statistic", "value", "values")
    return write([Grid("summary", columns, rows)], format_="csv")


SUMMARY_FORMATS: dict[str, Callable[[RuleSummary], RenderableType]] = {
    "table": lambda found: write(summary_grids(found), format_="table"),
    "json": lambda found: document(found.to_json()),
    "markdown": lambda found: write(summary_grids(found), format_="markdown"),
    "csv": summary_csv,
}
