"""A diagnosis for people and for other tools: the answer first, then what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted, printable
from mbench.fleet.sheet import SHOWN, Sheet, document
from mbench.fleet.wording import interval, percentage, short, texts_of
from mbench.reports.grid import Grid, write
from mbench.reports.junit import Test, written
from mbench.reports.text import number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from mbench.fleet.diagnosis import Cell, Diagnosis, Finding
    from mbench.fleet.summary import FleetSummary

__all__ = ["FORMATS", "SUMMARY_FORMATS", "answer"]

IS = {"wrong": "computes wrong results", "failed": "failed", "slow": "is slow",
      "missing": "lacks results", "suspect": "is suspected to be slow",
      "different machine": "is a different machine", "different software": "has different software",
      "two groups": "", "cannot tell": "cannot be judged"}  # fmt: skip
ARE = {"wrong": "compute wrong results", "failed": "failed", "slow": "are slow",
       "missing": "lack results", "suspect": "are suspected to be slow",
       "different machine": "are different machines",
       "different software": "have different software",
       "two groups": "", "cannot tell": "cannot be judged"}  # fmt: skip


def answer(found: Diagnosis) -> str:
    """The verdict on the fleet in one line."""
    total = len(found.nodes)
    parts = []
    for verdict, count in found.counts.items():
        if verdict == "two groups":
            one = next(f for f in found.findings if f.verdict == verdict)
            parts.append(f"the fleet falls into two groups ({one.text})")
        elif verdict in IS:
            names = found.named(verdict)
            said = IS[verdict] if count == 1 else ARE[verdict]
            own = [f for f in found.findings if f.verdict == verdict and f.nodes == names[:1]]
            text = texts_of(names)
            if count == 1 and len(own) == 1:
                text = own[0].text.partition(" in all metrics")[0] or text
            parts.append(f"{count} of {counted(total, 'node')} {said}: {text}")
    fleet = [f.text for f in found.findings if f.severity != "note" and not f.nodes]
    if not any(node.judged for node in found.nodes):
        return f"no node could be judged: {fleet[0] if fleet else 'nothing was measured'}" + (
            f"; {'; '.join(parts)}" if parts and found.counts.get("cannot tell", 0) < total else ""
        )
    parts += fleet
    if not parts:
        smallest = [one.finds for one in found.metrics if one.finds is not None]
        power = f"; a node {percentage(max(smallest))} slower would have shown" if smallest else ""
        said = f"all {total:,} nodes are normal" if total > 1 else "the node is normal"
        return said + power
    return "; ".join(parts)


def finding_rows(found: Sequence[Finding]) -> list[list[str]]:
    return [
        [one.code, one.severity, texts_of(one.nodes) or "fleet", printable(one.text), one.action]
        for one in found[:SHOWN]
    ]


def cells_of(found: Diagnosis) -> list[list[str | float | None]]:
    """Each metric of a finding about speed."""
    rows: list[list[str | float | None]] = []
    for one in found.findings:
        for cell in one.cells:
            if cell.slowdown is not None and cell.low is not None and cell.high is not None:
                rows.append([texts_of(one.nodes), one.code, name_of(cell),
                             f"{number(cell.value)} {cell.unit}" if cell.value else "",
                             percentage(cell.slowdown), interval(cell.low, cell.high),
                             runs_of(cell), of_scales(cell)])  # fmt: skip
    return rows


def of_scales(cell: Cell) -> str:
    if cell.scales is None or cell.needed is None:
        return ""
    return f"{cell.scales:.1f} of {cell.needed:.1f}"


def runs_of(cell: Cell) -> str:
    return ", ".join(percentage(run) for run in cell.runs)


def name_of(cell: Cell) -> str:
    return f"{cell.case}: {cell.metric}" if cell.metric else cell.case


FINDINGS = ("code", "severity", "nodes", "finding", "what to do")
CELLS = ("node", "code", "metric", "value", "slower", "95 % interval", "by run", "scales")
METRICS = ("metric", "nodes", "median", "spread", "would find")


def grids(found: Diagnosis) -> list[Grid]:
    """Findings, their metrics, and all metrics."""
    made = []
    if found.findings:
        made.append(Grid("Findings", FINDINGS, finding_rows(found.findings), all_in=None,
                         whole=frozenset({"code"})))  # fmt: skip
    if rows := cells_of(found):
        notes = ["by run: each measurement of the node; scales: the slowdown in standard "
                 "deviations of the fleet, of how many it takes to be found"]  # fmt: skip
        made.append(Grid("How far below the fleet", CELLS, rows[:SHOWN], all_in=None, notes=notes,
                         numeric=frozenset({"slower", "95 % interval", "scales"})))  # fmt: skip
    metrics = [
        [f"{one.case}: {one.metric}", one.nodes,
         f"{number(one.median)} {one.unit}".strip() if one.median else "",
         percentage(one.spread) if one.spread is not None else one.reason,
         percentage(one.finds) if one.finds is not None else ""]
        for one in found.metrics
    ]  # fmt: skip
    if metrics:
        made.append(Grid("Metrics", METRICS, metrics[:SHOWN], all_in=None,
                         numeric=frozenset({"median", "spread", "would find"})))  # fmt: skip
    return made


def left_out(found: Diagnosis) -> list[str]:
    """What the tables for people leave out."""
    most = max(len(found.findings), len(found.metrics), len(cells_of(found)))
    return [f"the first {SHOWN} rows of each table; --format json has them all"] * (most > SHOWN)


def remarks(found: Diagnosis) -> list[str]:
    """How the verdicts were reached, after commands that measure again."""
    how = (f"false alarms: at most {100 * found.false_alarms:g} % of healthy fleets; margin: "
           f"{100 * found.margin:g} %")  # fmt: skip
    if found.baseline:
        how += f"; baseline: {found.baseline}"
    commands = [
        f"measure again on {texts_of(one.nodes)}: {one.command}" for one in found.findings
        if one.command and one.code in ("F302", "F303", "F304")
    ]  # fmt: skip
    return [*commands[:SHOWN], how, *found.remarks, *left_out(found)]


def sheet(found: Diagnosis) -> Sheet:
    return Sheet(answer=answer(found), grids=grids(found), lines=remarks(found), error=["error"],
                 warning=["warning"])  # fmt: skip


def junit(found: Diagnosis) -> str:
    """A test case for each node. A node that was not judged is an error, so that nothing takes it
    for a success.
    """
    tests = []
    for node in found.nodes:
        own = [one for one in found.findings if node.name in one.nodes]
        message = "; ".join(f"{one.code} {one.text}" for one in own) or node.verdict
        tag = {"normal": "", "cannot tell": "error"}.get(node.verdict, "failure")
        tests.append(Test(case=short(node.name), message=message, tag=tag))
    return written("mbench fleet", "node", tests)


FORMATS: dict[str, Callable[[Diagnosis], RenderableType]] = {
    "table": lambda found: sheet(found).table(),
    "json": lambda found: document({"answer": answer(found), **found.to_json()}),
    "markdown": lambda found: sheet(found).markdown(),
    "html": lambda found: sheet(found).page(),
    "junit": junit,
}


OVER_FLEET = ("metric", "unit", "nodes", "median", "spread", "min", "max")


def summary_grids(found: FleetSummary) -> list[Grid]:
    rows = []
    for one in found.metrics:
        name = printable(f"{one.case}: {one.metric}")
        if one.setup:
            name += f" ({', '.join(f'{key} {text}' for key, text in one.setup.items())})"
        spread = percentage(one.spread) if one.spread is not None else ""
        rows.append([name, one.unit, one.count, number(one.median), spread, number(one.min),
                     number(one.max)])  # fmt: skip
    notes = [f"{printable(name)}: no value from {texts_of(nodes)}"
             for name, nodes in found.without.items()]  # fmt: skip
    notes += [f"{short(node)}: {printable(why)}" for node, reasons in found.broken.items()
              for why in reasons]  # fmt: skip
    title = f"{counted(len(found.nodes), 'node')}, {counted(len(rows), 'metric')}"
    numbers = frozenset({"median", "spread", "min", "max"})
    return [Grid(title, OVER_FLEET, rows, numeric=numbers, all_in=None, notes=notes)]


def summary_values(found: FleetSummary) -> list[Grid]:
    """A row for each node and metric, for programs."""
    rows = [[one.case, one.metric, one.unit, value.node, value.value, value.processes]
            for one in found.metrics for value in one.nodes]  # fmt: skip
    return [Grid("fleet", ("case", "metric", "unit", "node", "value", "processes"), rows)]


SUMMARY_FORMATS: dict[str, Callable[[FleetSummary], RenderableType]] = {
    "table": lambda found: write(summary_grids(found), format_="table"),
    "json": lambda found: document(found.to_json()),
    "markdown": lambda found: write(summary_grids(found), format_="markdown"),
    "csv": lambda found: write(summary_values(found), format_="csv"),
}
