"""Diagnoses a fleet: which nodes are slow, wrong, missing, or not comparable, and what to do."""

from __future__ import annotations

import math
import re
import shlex
from collections import defaultdict
from dataclasses import replace
from statistics import median
from string import Template
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.fleet.columns import columns_of, difference_of, expected
from mbench.fleet.corruption import corruption
from mbench.fleet.diagnosis import (
    Cell,
    Diagnosis,
    MetricDiagnosis,
    NodeDiagnosis,
    finding,
    worst_of,
)
from mbench.fleet.judge import fast_side, finds, index_of, judge, stand, threshold_of
from mbench.fleet.nodes import CASE_FAILED, IMPOSSIBLE, in_order
from mbench.fleet.speed import by_speed
from mbench.fleet.spread import FEWEST_NODES
from mbench.fleet.state import State
from mbench.fleet.wording import percentage, short, slowdown, texts_of

if TYPE_CHECKING:
    from mbench.fleet.baseline import Baseline
    from mbench.fleet.columns import Column
    from mbench.fleet.diagnosis import Finding
    from mbench.fleet.judge import Judged, Standing
    from mbench.fleet.nodes import Fleet, MetricName, Node

__all__ = ["FALSE_ALARMS", "MARGIN", "diagnose"]

FALSE_ALARMS, MARGIN = 0.05, 0.02
ALIKE_MEMORY = 0.02
"""Share by which the memory of like machines may differ, because firmware reserves some."""
USELESS = 0.5
"""A metric is judged only if a slowdown of this size would be found."""
SHIFTED = 0.25
"""Share of a fleet below its baseline from which the fleet as a whole counts as slower."""


def diagnose(
    fleet: Fleet,
    *,
    false_alarms: float = FALSE_ALARMS,
    margin: float = MARGIN,
    baseline: Baseline | None = None,
) -> Diagnosis:
    """The verdict on every node.

    `false_alarms`: share of healthy fleets in which any node may be suspected by chance. `margin`:
    slowdown that is too small to matter, as a share. With a `baseline`, nodes are compared with it.
    """
    state = State(fleet=fleet, alarms=false_alarms, margin=margin)
    unreadable(state)
    names = expected(fleet)
    tests = max(1, len(names)) * (2 if several_runs(fleet) else 1)
    for name in names:
        gather(state, name, tests=tests, baseline=baseline)
    judged = judge_all(state, tests=tests)
    by_speed(state, judged)
    not_comparable(state)
    lacking(state)
    state.findings += corruption(fleet)
    known = {one.code for one in state.findings}
    if not any(state.judged.values()) and names and "F502" not in known:
        reasons = sorted({one.reason for one in state.metrics.values() if one.reason})
        state.findings.append(finding("F502", "; ".join(reasons[:3]), nodes=[]))
    remarks = baseline.remarks(fleet, tests=tests, alarms=false_alarms) if baseline else []
    return Diagnosis(
        false_alarms=false_alarms,
        margin=margin,
        baseline=baseline.title if baseline else "",
        nodes=[node_of(state, node) for node in fleet.nodes],
        findings=sorted(state.findings, key=order_of),
        metrics=[state.metrics[name] for name in names],
        remarks=remarks,
    )


def order_of(one: Finding) -> tuple[object, ...]:
    severities = ("error", "warning", "note")
    return (severities.index(one.severity), one.code, [in_order(name) for name in one.nodes],
            one.text)  # fmt: skip


def several_runs(fleet: Fleet) -> bool:
    """Whether at least half of the nodes have several runs, which then count as separate tests.

    Where only suspects were measured again, that makes no other node a suspect.
    """
    several = sum(sum(not run.problem for run in node.runs) > 1 for node in fleet.nodes)
    return 2 * several >= len(fleet.nodes)


NOBODY = "measure it on all nodes: none has it"
"""What to do where the other nodes lack a metric, too."""


def measured(fleet: Fleet) -> set[MetricName]:
    """The metrics for which any node has a value."""
    return {name for node in fleet.nodes for run in node.runs
            for name, reading in run.readings.items() if reading.values}  # fmt: skip


def unreadable(state: State) -> None:
    """Report runs without any reading, and nodes without runs."""
    usual = usual_command(state.fleet)
    action = "" if measured(state.fleet) else NOBODY
    for node in state.fleet.nodes:
        broken = [run for run in node.runs if run.problem]
        for run in broken:
            state.findings.append(finding("F202", run.problem, nodes=[node.name]))
        if not node.runs:
            text, command = (
                f"{short(node.name)} has no run",
                usual.substitute(node=shlex.quote(node.name)),
            )
            state.findings.append(
                finding("F203", text, nodes=[node.name], command=command, action=action)
            )


def usual_command(fleet: Fleet) -> Template:
    """The command by which most nodes were measured, with $node for the folder of each node's own
    results; empty if it is not known.
    """
    commands = [
        re.sub(rf"(--results[ =]|/){re.escape(node.name)}(?![\w.-])", r"\1${node}",
               run.command.replace("$", "$$"))
        for node in fleet.nodes for run in node.runs if run.command
    ]  # fmt: skip
    return Template(max(sorted(set(commands)), key=commands.count, default=""))


def gather(state: State, name: MetricName, *, tests: int, baseline: Baseline | None) -> None:
    """One metric: which nodes can be compared with each other, and which lack it."""
    nodes = [node for node in state.fleet.nodes if any(not run.problem for run in node.runs)]
    columns, without = columns_of(nodes, name)
    have = {value.node for column in columns for value in column.values}
    for node in nodes:
        if node.name in without:
            state.lacking[node.name][name] = without[node.name]
        elif node.name not in have and 2 * (len(have) + len(without)) >= len(nodes):
            state.lacking[node.name][name] = None
    before = baseline.metrics.get(name) if baseline else None
    main = columns[0] if columns else None
    stood: list[Standing] = []
    for column in columns:
        usual = before.setup if before else columns[0].values[0].setup
        setup = column.values[0].setup
        if before and setup == usual and before.reference:
            one = stand(column, margin=state.margin, tests=tests, reference=before.reference)
            stood.append(shifted(state, one, tests=tests))
        elif not before and len(column.values) >= FEWEST_NODES and column.better:
            stood.append(stand(column, margin=state.margin, tests=tests))
        if setup != usual:
            not_alike(state, column, usual, judged=not before and bool(stood)
                      and stood[-1].column is column)  # fmt: skip
    state.standings += stood
    shown = {value.node for one in stood for value in one.column.values}
    for node in nodes:
        if node.name in shown:
            state.judged[node.name].add(name)
        elif node.name in have or name in state.lacking[node.name]:
            state.not_judged[node.name].add(name)
    reason = ""
    if not stood:
        count = len(main.values) if main else 0
        reason = (
            "it is not known which direction is better" if main and not main.better
            else "the baseline has other software, another machine, or no such metric" if baseline
            else f"{counted(count, 'comparable node')}, but at least {FEWEST_NODES} are needed"
        )  # fmt: skip
    state.metrics[name] = MetricDiagnosis(
        case=name.case, metric=name.metric, unit=main.unit if main else "",
        better=main.better if main else "", nodes=len(main.values) if main else 0,
        median=main.shown(median(float(log) for log in main.logs)) if main else None,
        spread=None, finds=None, reason=reason,
    )  # fmt: skip


def shifted(state: State, standing: Standing, *, tests: int) -> Standing:
    """The standing against a baseline, or of nodes against each other if the fleet is slower."""
    gaps = standing.column.logs - standing.centers
    limit = math.log1p(-state.margin)
    count = len(gaps)
    below = int((gaps < limit).sum())
    if count < FEWEST_NODES or below <= SHIFTED * count or float(median(gaps)) > limit:
        return standing
    name = standing.column.metric
    state.findings.append(
        finding("F501", f"{name}: the fleet's median is {slowdown(float(median(gaps)))} its "
                "baseline's; nodes are compared with each other", nodes=[])
    )  # fmt: skip
    return stand(standing.column, margin=state.margin, tests=tests)


def not_alike(
    state: State, column: Column, usual: tuple[tuple[str, str], ...], *, judged: bool
) -> None:
    """Record a column with another setup; if `judged`, its nodes are compared with each other."""
    setup = column.values[0].setup
    machines = {key for node in state.fleet.nodes for run in node.runs for key in run.machine}
    ours, theirs = dict(setup), dict(usual)
    differ = {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}
    code = "F402" if differ & machines else "F401"
    said = difference_of(setup, usual)
    if judged:
        said += f"; these {len(column.values)} are compared with each other"
    for value in column.values:
        state.apart[code, said].append((value.node, column.metric))


def not_comparable(state: State) -> None:
    for (code, said), pairs in sorted(state.apart.items()):
        nodes = sorted({node for node, _ in pairs}, key=in_order)
        cells = [Cell(case=name.case, metric=name.metric)
                 for name in sorted({name for _, name in pairs})]  # fmt: skip
        state.findings.append(finding(code, f"{texts_of(nodes)}: {said}", nodes=nodes, cells=cells))
    memory = {node.name: run.memory_bytes for node in state.fleet.nodes
              for run in node.runs if run.memory_bytes}  # fmt: skip
    if len(memory) >= 3:
        usual = median(memory.values())
        for name, held in memory.items():
            if abs(held / usual - 1) > ALIKE_MEMORY:
                text = (f"{short(name)} has {held / 2**30:.4g} GiB of memory, the others "
                        f"{usual / 2**30:.4g} GiB")  # fmt: skip
                state.findings.append(finding("F402", text, nodes=[name]))


def judge_all(state: State, *, tests: int) -> list[Judged]:
    """Judge all nodes in each metric, and in all metrics together."""
    index = index_of(state.standings)
    alarms = 1 - math.sqrt(1 - state.alarms) if index else state.alarms
    fast = fast_side(state.standings)
    found: list[Judged] = []
    for one in state.standings:
        threshold = threshold_of(one, alarms=alarms, tests=tests, fast=fast)
        smallest = finds(one, threshold, margin=state.margin)
        judged = judge(one, threshold, margin=state.margin)
        if smallest > USELESS and not one.split:
            judged = [each for each in judged if each.verdict in ("slow", "suspect")]
            too_noisy(state, one, smallest, but={each.value.node for each in judged})
        found += judged
        if smallest <= USELESS or one.split:
            about_metric(state, one, smallest)
    if index:
        whole = stand(index, margin=state.margin, tests=1)
        twice = 2 if several_runs(state.fleet) else 1
        threshold = threshold_of(whole, alarms=alarms, tests=twice, fast=fast_side([whole]))
        found += judge(whole, threshold, margin=state.margin)
    return found


def too_noisy(state: State, standing: Standing, smallest: float, *, but: set[str]) -> None:
    """Mark nodes as not judged, except those that show a slowdown nevertheless: nearly any other
    node would pass.
    """
    name = standing.column.metric
    for value in standing.column.values:
        if value.node in but:
            continue
        state.judged[value.node].discard(name)
        state.not_judged[value.node].add(name)
    reason = (f"nodes differ so much that only one {percentage(smallest)} slower would show: "
              "measure again while nothing else runs")  # fmt: skip
    state.metrics[name] = replace(state.metrics[name], reason=reason)
    state.findings.append(finding("F502", f"{name}: {reason}", nodes=[]))


def about_metric(state: State, standing: Standing, smallest: float) -> None:
    """Record spread and power of a metric, from its largest group of nodes."""
    name = standing.column.metric
    known = state.metrics[name]
    if known.spread is not None:
        return
    center = float(median(float(one) for one in standing.centers))
    state.metrics[name] = MetricDiagnosis(
        case=known.case, metric=known.metric, unit=known.unit, better=known.better,
        nodes=known.nodes, median=standing.column.shown(center),
        spread=float(median(float(one) for one in standing.scales)),
        finds=None if standing.split else smallest,
        reason="two groups" if standing.split else "",
    )  # fmt: skip
    if standing.split:
        groups(state, standing)


def groups(state: State, standing: Standing) -> None:
    below, apart = standing.split or (0, 0.0)
    column = standing.column
    ordered = sorted(column.values, key=lambda value: (value.log, in_order(value.node)))
    slower = sorted((value.node for value in ordered[:below]), key=in_order)
    rest = len(ordered) - below
    text = (f"{column.metric}: {counted(below, 'node')} about {slowdown(-apart)} the other "
            f"{rest}: {texts_of(slower)}")  # fmt: skip
    names = sorted((value.node for value in ordered), key=in_order)
    cell = Cell(case=column.metric.case, metric=column.metric.metric, slowdown=-math.expm1(-apart))
    state.findings.append(finding("F403", text, nodes=names, cells=[cell]))


def lacking(state: State) -> None:
    """Report what should have been measured, but was not."""
    usual, known = usual_command(state.fleet), measured(state.fleet)
    for node, missing in state.lacking.items():
        by_code: dict[tuple[str, str], list[tuple[MetricName, str]]] = defaultdict(list)
        for name, reading in sorted(missing.items()):
            problem = reading.problem if reading else ""
            code = {CASE_FAILED: "F201", IMPOSSIBLE: "F204"}.get(problem, "F203")
            action = NOBODY if code == "F203" and name not in known else ""
            by_code[code, action].append((name, reading.reason if reading else "no value"))
        for (code, action), names in by_code.items():
            first, reason = names[0]
            more = f", and {counted(len(names) - 1, 'other')}" if len(names) > 1 else ""
            state.findings.append(
                finding(code, f"{short(node)}: {first}: {reason}{more}", nodes=[node],
                        command=usual.substitute(node=shlex.quote(node)), action=action,
                        cells=[Cell(case=name.case, metric=name.metric, reason=why)
                               for name, why in names])
            )  # fmt: skip


def node_of(state: State, node: Node) -> NodeDiagnosis:
    """The verdict on a node; a node without findings is normal only if it was judged."""
    own = [one for one in state.findings if node.name in one.nodes]
    verdict = worst_of(own)
    judged = state.judged[node.name]
    if verdict == "normal" and not judged:
        verdict = "cannot tell"
    return NodeDiagnosis(
        name=node.name, verdict=verdict, judged=len(judged),
        not_judged=len(state.not_judged[node.name]), runs=len(node.runs),
        codes=sorted({one.code for one in own}),
    )  # fmt: skip
