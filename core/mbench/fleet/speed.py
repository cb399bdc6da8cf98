"""Turns verdicts on single metrics into findings about nodes: one for metrics that move
together."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from mbench.console import counted
from mbench.fleet.diagnosis import Cell, finding
from mbench.fleet.judge import INDEX
from mbench.fleet.wording import shares, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.fleet.diagnosis import Finding
    from mbench.fleet.judge import Judged
    from mbench.fleet.nodes import MetricName
    from mbench.fleet.state import State

__all__ = ["by_speed", "together"]

MANY = 0.5
"""Share of a node's metrics that must be slow for the node itself to count as slow."""
ALIKE = 0.5
"""Rank correlation over the nodes above which two metrics count as moving together."""
BY_CHANCE = 2.33
"""Standard errors by which the correlation must exceed 0: one pair in 100 does so by chance."""
BY_VERDICT = {"slow": "F301", "suspect": "F302", "intermittent": "F303", "noisy": "F304",
              "fast": "F305"}  # fmt: skip


def by_speed(state: State, judged: Sequence[Judged]) -> None:
    """A finding for each node, verdict, and group of metrics that move together."""
    found: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    for one in judged:
        if one.verdict in BY_VERDICT:
            found[one.value.node, one.verdict].append(one)
    slow = {node for node, verdict in found if verdict == "slow"}
    for (node, verdict), ones in found.items():
        if verdict in ("suspect", "intermittent", "noisy") and node in slow:
            continue  # the same node is known to be slow
        ones.sort(key=lambda one: (one.metric != INDEX, one.gap, one.metric))
        threads(state, node, ones)
        for group in together(ones, state):
            state.findings.append(finding_of(state, group, verdict))


def finding_of(state: State, ones: Sequence[Judged], verdict: str) -> Finding:
    """A finding about a node's metrics that move together."""
    node = ones[0].value.node
    text = f"{short(node)}, {shares(ones[0])} the fleet"
    count = sum(one.metric != INDEX for one in ones)
    of = len(state.judged[node])
    if of > 1:
        name = "all metrics together" if ones[0].metric == INDEX else str(ones[0].metric)
        text += f" in {name}" + f", {count} of {of} metrics by themselves" * bool(count)
    cells = [cell_of(state, one) for one in ones]
    command = ones[0].value.command if verdict != "fast" else ""
    return finding(BY_VERDICT[verdict], text, nodes=[node], cells=cells, command=command)


def threads(state: State, node: str, ones: Sequence[Judged]) -> None:
    """Report if a node computed with another number of threads than most others."""
    for one in ones:
        column = next((s.column for s in state.standings if s.column.metric == one.metric), None)
        if column and one.value.threads:
            all_threads = [value.threads for value in column.values]
            usual = max(sorted(set(all_threads)), key=all_threads.count)
            if one.value.threads != usual:
                own = counted(one.value.threads, "thread")
                text = f"{short(node)} computed with {own}, the others with {usual}"
                if all(known.text != text for known in state.findings):
                    state.findings.append(finding("F404", text, nodes=[node]))
                return


def cell_of(state: State, one: Judged) -> Cell:
    whole = one.metric == INDEX
    column = next((s.column for s in state.standings if s.column.metric == one.metric), None)
    return Cell(
        case=one.metric.case, metric=one.metric.metric,
        value=None if whole or column is None else column.shown(one.log),
        unit=column.unit if column else "",
        slowdown=-math.expm1(one.gap), low=-math.expm1(one.high), high=-math.expm1(one.low),
        scales=-one.z, needed=one.needed, conformal_p=one.conformal,
        runs=[-math.expm1(run) for run in one.runs],
    )  # fmt: skip


def together(ones: Sequence[Judged], state: State) -> list[list[Judged]]:
    """A node's metrics in groups that share a cause, as far as the other nodes show.

    If the node is slow in half of its metrics, or half of them are below the margin, the node is
    the cause. Otherwise, metrics are grouped if their ranks correlate over the other nodes
    (Spearman), or if too few nodes have both to know.
    """
    node = ones[0].value.node
    single = [one for one in ones if one.metric != INDEX]
    many = len(single) >= MANY * len(state.judged[node])
    if len(single) < 2 or many or usual_gap(state, node) < math.log1p(-state.margin):
        return [list(ones)]
    values = {one.metric: logs_of(state, one.metric, but=node) for one in single}
    groups: list[list[Judged]] = []
    for one in single:
        near = [
            group
            for group in groups
            if any(alike(values[one.metric], values[other.metric]) for other in group)
        ]
        groups = [group for group in groups if group not in near]
        groups.append([*(each for group in near for each in group), one])
    return groups


def usual_gap(state: State, node: str) -> float:
    """The median, over a node's metrics, of how far off it is, as a logarithm."""
    gaps = [float(value.log - center) for one in state.standings
            for value, center in zip(one.column.values, one.centers, strict=True)
            if value.node == node]  # fmt: skip
    return median(gaps)


def logs_of(state: State, metric: MetricName, *, but: str) -> dict[str, float]:
    """A metric's value by node."""
    return {value.node: value.log for one in state.standings if one.column.metric == metric
            for value in one.column.values if value.node != but}  # fmt: skip


def alike(first: dict[str, float], second: dict[str, float]) -> bool:
    """Whether two metrics move together over the nodes that have both."""
    nodes = sorted(first.keys() & second.keys())
    needed = max(ALIKE, BY_CHANCE / math.sqrt(max(1, len(nodes) - 1)))
    if needed >= 1:
        return True
    return correlation([first[node] for node in nodes], [second[node] for node in nodes]) > needed


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """The rank correlation; 0 where all values of one side are equal."""
    one, other = ranked(np.array(first)), ranked(np.array(second))
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def ranked(values: np.ndarray) -> np.ndarray:
    """Ranks; equal values get their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    found: np.ndarray = (last - (counts - 1) / 2)[places]
    return found
