"""Statistics of a file of results by SuperBench's summary rules."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbench.fleet.superbench.expressions import matched, within_seconds
from mbench.fleet.superbench.names import aliases, rank, without_rank
from mbench.fleet.superbench.verdicts import Remark
from mbench.fleet.superbench.words import few, short
from mbench.results.encoding import plain_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.fleet.superbench.results import Results
    from mbench.fleet.superbench.rules import SummaryRule
    from mbench.results.encoding import Json

__all__ = ["RuleSummary", "SummaryRow", "summarize"]


@dataclass(frozen=True, kw_only=True)
class SummaryRow:
    """A statistic of a metric over nodes, and over ranks where these are aggregated."""

    category: str
    """Category of the rule."""
    rule: str
    """The rule."""
    metric: str
    """The metric; where metrics are aggregated, the common part of their names."""
    statistic: str
    """`count`, `max`, `mean`, `min`, `std`, or `p1` to `p99`."""
    value: float | None
    """The statistic; null where there are too few values."""
    values: int
    """Number of values that it covers."""


@dataclass(frozen=True, kw_only=True)
class RuleSummary:
    """All statistics of a file of rules."""

    schema: int = 1
    """Version of this document."""
    rules: str
    """The file of rules."""
    results: str
    """The file of results."""
    nodes: int
    """Number of nodes in the file."""
    rows: list[SummaryRow]
    """In the order of the rules, and of the names of their metrics."""
    remarks: list[Remark]
    """In the order of their codes."""

    def to_json(self) -> dict[str, Json]:
        """The document of `--format json`."""
        return plain_record(self)


def summarize(results: Results, rules: Sequence[SummaryRule], *, title: str = "") -> RuleSummary:
    """The statistics of all rules."""
    rows: list[SummaryRow] = []
    remarks = shared_categories(rules)
    for rule in rules:
        metrics, said = metrics_of(rule, results)
        groups, more = grouped(rule, metrics)
        remarks += [*said, *more]
        left_out = 0
        for name, members in groups.items():
            given = [node.get(metric) for node in results.nodes.values() for metric in members]
            numbers = [value for value in given if isinstance(value, float)]
            left_out += sum(value is not None and not isinstance(value, float) for value in given)
            rows += [
                SummaryRow(category=rule.categories, rule=rule.name, metric=name, statistic=one,
                           value=statistic(one, numbers), values=len(numbers))
                for one in rule.statistics
            ]  # fmt: skip
        if left_out:
            remarks.append(remark("S304", rule, f"{left_out:,} of them"))
    return RuleSummary(
        rules=title, results=results.path.name, nodes=len(results.nodes), rows=rows,
        remarks=sorted(remarks, key=lambda one: (one.code, one.rule, one.text)),
    )  # fmt: skip


def remark(code: str, rule: SummaryRule, text: str) -> Remark:
    return Remark(code=code, rule=rule.name, text=f"{short(rule.name)}: {text}")


def shared_categories(rules: Sequence[SummaryRule]) -> list[Remark]:
    by = defaultdict(list)
    for rule in rules:
        by[rule.categories].append(rule.name)
    return [
        Remark(code="S301", text=f"{short(category)}: {few(names)}")
        for category, names in by.items() if len(names) > 1
    ]  # fmt: skip


def metrics_of(rule: SummaryRule, results: Results) -> tuple[list[str], list[Remark]]:
    """All metrics of a rule, each once, and how its expressions were read."""
    found, said = set(), []
    literal = [one.text for one in rule.patterns]
    for pattern in rule.patterns:
        one = matched(pattern, results.metrics, literal=literal)
        found |= set(one.metrics)
        if not one.metrics:
            said.append(remark("S105", rule, short(pattern.text)))
        if one.cut:
            said.append(remark("S201", rule, f"{short(pattern.text)}: {few(one.cut)}"))
        if one.longer and len(one.metrics) > 1:
            said.append(remark("S202", rule, f"{short(pattern.text)}: {few(one.longer)}"))
        if one.renamed:
            said.append(remark("S204", rule, f"{short(pattern.text)}: {few(one.renamed)}"))
    return sorted(found), said


def grouped(
    rule: SummaryRule, metrics: Sequence[str]
) -> tuple[Mapping[str, list[str]], list[Remark]]:
    """Metrics by the name under which they are aggregated."""
    groups: dict[str, list[str]] = defaultdict(list)
    if isinstance(rule.aggregate, re.Pattern):
        apart = []
        with within_seconds(rule.at):
            for metric in metrics:
                name = starred(rule.aggregate, metric)
                if name is None:
                    apart.append(metric)
                groups[name or metric].append(metric)
        return groups, [remark("S303", rule, few(apart))] if apart else []
    for metric in metrics:
        groups[without_rank(metric) if rule.aggregate else metric].append(metric)
    ranked = [metric for metric in metrics if not rank(metric)]
    if rule.aggregate and ranked:
        return groups, [remark("S302", rule, f"no rank in {few(ranked)}")]
    return groups, []


def starred(pattern: re.Pattern[str], metric: str) -> str | None:
    """The name with a star for each group of the expression; None where it does not match."""
    for name in aliases(metric):
        if found := pattern.search(name):
            spans = {found.span(number) for number in range(1, pattern.groups + 1)}
            for start, end in sorted(spans, reverse=True):
                if start >= 0 and not any(within((start, end), other) for other in spans):
                    name = f"{name[:start]}*{name[end:]}"
            return name
    return None


def within(span: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether a group is within another one."""
    return span != other and other[0] <= span[0] and span[1] <= other[1]


def statistic(name: str, numbers: Sequence[float]) -> float | None:
    """A statistic of numbers; None where it has no value, or none that a float can represent."""
    if name == "count":
        return float(len(numbers))
    if not numbers or (name == "std" and len(numbers) < 2):
        return None
    given = np.array(numbers)
    with np.errstate(all="ignore"):
        if name == "std":
            found = float(np.std(given, ddof=1))
        elif name[0] == "p":
            found = float(np.percentile(given, int(name[1:])))
        else:
            found = float(
                {"max": np.max(given), "mean": np.mean(given), "min": np.min(given)}[name]
            )
    return found if np.isfinite(found) else None
