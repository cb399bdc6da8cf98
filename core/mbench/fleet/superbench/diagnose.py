"""Judges nodes by SuperBench's rules: which are defective, and which cannot be judged."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mbench.fleet.superbench.criterion import Undefined
from mbench.fleet.superbench.expressions import matched
from mbench.fleet.superbench.names import today
from mbench.fleet.superbench.rules import FAILURE_CHECK, MULTI_RULES, STORE, VARIANCE
from mbench.fleet.superbench.verdicts import (
    ACCEPTED,
    DEFECTIVE,
    NOT_JUDGED,
    Issue,
    NodeVerdict,
    Remark,
    RuleDiagnosis,
    Unjudged,
)
from mbench.fleet.superbench.words import few, short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.fleet.superbench.baseline import Baseline
    from mbench.fleet.superbench.expressions import Matched, Pattern
    from mbench.fleet.superbench.results import Results, Value
    from mbench.fleet.superbench.rules import Rule

__all__ = ["diagnose"]

FAILED_TEST = "FailedTest"
MOST_CASES = 1000
"""Most combinations of counts to try if stored counts are not fully known."""

Matches: TypeAlias = "Sequence[tuple[Pattern, Matched]]"


@dataclass(frozen=True)
class Counted:
    """How many metrics of a stored rule met its criterion, and how many could not be judged."""

    met: int
    unknown: int


@dataclass(frozen=True)
class Kept:
    """The values of a stored rule's metrics."""

    values: tuple[float, ...]
    unknown: int


@dataclass
class Judging:
    """One node, while rules are applied to it."""

    values: Mapping[str, Value]
    issues: list[Issue] = field(default_factory=list)
    unjudged: list[Unjudged] = field(default_factory=list)
    stored: dict[str, Counted | Kept] = field(default_factory=dict)
    judged: int = 0
    ignored: list[str] = field(default_factory=list)
    """Rules of multi_rules that SuperBench treats as passed."""

    def cannot(self, rule: Rule, code: str, metric: str, reason: str) -> None:
        self.unjudged.append(Unjudged(rule=rule.name, code=code, metric=metric, reason=reason))


def diagnose(
    results: Results, rules: Sequence[Rule], baseline: Baseline | None, *, title: str = "",
    baseline_title: str = "",
) -> RuleDiagnosis:  # fmt: skip
    """The verdict on every node in a file of results."""
    matches = {rule.name: matches_of(rule, results) for rule in rules}
    nodes, judged = [], {}
    for name in sorted(results.nodes):
        one = Judging(results.nodes[name])
        for rule in rules:
            apply(rule, matches[rule.name], one, baseline)
        judged[name] = one
        nodes.append(verdict_on(name, one))
    return RuleDiagnosis(
        rules=title, results=results.path.name, baseline=baseline_title, nodes=nodes,
        remarks=sorted(remarks(results, rules, matches, judged),
                       key=lambda one: (one.code, one.rule, one.text)),
    )  # fmt: skip


def matches_of(rule: Rule, results: Results) -> Matches:
    literal = [one.text for one in rule.patterns]
    return [(one, matched(one, results.metrics, literal=literal)) for one in rule.patterns]


def metrics_of(found: Matches) -> list[str]:
    """All metrics of a rule, each once."""
    return sorted({metric for _, one in found for metric in one.metrics})


def verdict_on(name: str, found: Judging) -> NodeVerdict:
    verdict = ACCEPTED
    if found.issues:
        verdict = DEFECTIVE
    elif found.unjudged:
        verdict = NOT_JUDGED
    return NodeVerdict(
        name=name, verdict=verdict, issues=found.issues, unjudged=found.unjudged,
        categories=sorted({issue.category for issue in found.issues}), judged=found.judged,
    )  # fmt: skip


def apply(rule: Rule, found: Matches, node: Judging, baseline: Baseline | None) -> None:
    """Apply a rule to a node."""
    if rule.function == MULTI_RULES:
        combine(rule, node)
        return
    if rule.function == STORE:
        keep(rule, found, node)
        return
    issues = missing_tests(rule, found, node) if rule.function == FAILURE_CHECK else []
    unknown = 0
    for pattern, one in found:
        if not one.metrics and rule.function != FAILURE_CHECK:
            unknown += 1
            node.cannot(rule, "S105", pattern.text, "no node has such a metric")
    for metric in metrics_of(found):
        value = node.values.get(metric)
        if rule.function == FAILURE_CHECK and not isinstance(value, float):
            continue  # already an issue
        if (number := number_of(rule, metric, value, node)) is None:
            unknown += 1
            continue
        compared, base = number, None
        if rule.function == VARIANCE:
            base, reason = baseline.of(metric) if baseline else (None, "there is no baseline")
            if base is None:
                unknown += 1
                node.cannot(rule, "S104", metric, reason)
                continue
            compared = (number - base) / base
        assert rule.criterion is not None
        try:
            met = rule.criterion.of(compared)
        except Undefined as error:
            unknown += 1
            node.cannot(rule, "S106", metric, str(error))
            continue
        node.judged += 1
        if met:
            issues.append(issue_of(rule, metric, number, base, compared))
    if rule.store:
        met_count = len(issues)
        if rule.function == FAILURE_CHECK:
            met_count = violated(found, node) + sum(issue.value is not None for issue in issues)
        node.stored[rule.name] = Counted(met_count, unknown)
    else:
        node.issues += issues


def number_of(rule: Rule, metric: str, value: Value | None, node: Judging) -> float | None:
    """The number of a metric; None where there is none, which is recorded for the node."""
    if isinstance(value, float):
        return value
    if value is None:
        node.cannot(rule, "S101", metric, "the node does not have it")
    elif value.missing:
        node.cannot(rule, "S101", metric, f"the value is {value.reason}")
    else:
        node.cannot(rule, "S103" if value.text else "S102", metric, f"the value is {value.reason}")
    return None


def issue_of(rule: Rule, metric: str, value: float, base: float | None, compared: float) -> Issue:
    assert rule.criterion is not None
    text = f"{short(metric)}: {value:.6g}"
    if base is not None:
        text += f", baseline {base:.6g}, variance {100 * compared:+.2f} %"
    text += f", by {short(rule.criterion.text)}"
    return Issue(rule=rule.name, category=rule.categories, metric=metric, text=text, value=value,
                 baseline=base, variance=None if base is None else compared)  # fmt: skip


def missing_tests(rule: Rule, found: Matches, node: Judging) -> list[Issue]:
    """Tests that a failure_check misses, or that reported no number."""
    issues: dict[str, Issue] = {}
    for pattern, one in found:
        if not one.metrics:
            issues[pattern.text] = Issue(
                rule=rule.name, category=rule.categories, metric=pattern.text,
                text=f"{short(pattern.text)}: no node has such a metric",
            )  # fmt: skip
        for metric in one.metrics:
            value = node.values.get(metric)
            if not isinstance(value, float):
                said = f"the value is {value.reason}" if value else "the node does not have it"
                issues[metric] = Issue(rule=rule.name, category=FAILED_TEST, metric=metric,
                                       text=f"{short(metric)}: {said}")  # fmt: skip
    node.judged += len(issues)
    return list(issues.values())


def violated(found: Matches, node: Judging) -> int:
    """How many expressions of a failure_check miss a test."""
    return sum(
        not one.metrics or any(not isinstance(node.values.get(m), float) for m in one.metrics)
        for _, one in found
    )


def keep(rule: Rule, found: Matches, node: Judging) -> None:
    """Store the values of a rule's metrics."""
    given = [number_of(rule, metric, node.values.get(metric), node) for metric in metrics_of(found)]
    numbers = tuple(number for number in given if number is not None)
    missing = [pattern.text for pattern, one in found if not one.metrics]
    for text in missing:
        node.cannot(rule, "S105", text, "no node has such a metric")
    node.stored[rule.name] = Kept(numbers, len(given) - len(numbers) + len(missing))


def combine(rule: Rule, node: Judging) -> None:
    """Apply `multi_rules` to what other rules stored.

    Where a stored count is not known, every possible number must give the same answer.
    """
    criterion = rule.criterion
    assert criterion is not None
    stored = {name: node.stored[name] for name in criterion.labels}
    for name, one in stored.items():
        if isinstance(one, Kept) and (one.unknown or not one.values):
            unknown(rule, node, "S107", f"metrics of {short(name)} are missing or not numbers")
            return
    ranges = [
        range(one.met, one.met + one.unknown + 1) for one in stored.values()
        if isinstance(one, Counted)
    ]  # fmt: skip
    size = 1
    for counts_of_one in ranges:
        size *= len(counts_of_one)
    answers = set()
    if size <= MOST_CASES:
        names = [name for name, one in stored.items() if isinstance(one, Counted)]
        kept = {name: one.values for name, one in stored.items() if isinstance(one, Kept)}
        for counts in itertools.product(*ranges):
            try:
                answers.add(
                    criterion.of_labels(
                        {**kept, **dict(zip(names, map(float, counts), strict=True))}
                    )
                )
            except Undefined as error:
                unknown(rule, node, "S106", str(error))
                return
    if len(answers) != 1:
        unknown(rule, node, "S107", "it depends on metrics that are missing or not numbers")
        return
    node.judged += 1
    if not answers.pop():
        if rule.store:
            node.stored[rule.name] = Counted(0, 0)
        return
    if rule.store:
        node.stored[rule.name] = Counted(1, 0)
        return
    if not criterion.explicit:
        node.ignored.append(rule.name)
    node.issues.append(
        Issue(rule=rule.name, category=rule.categories, metric="",
              text=f"{short(rule.name)}: by {short(criterion.text)}")
    )  # fmt: skip


def unknown(rule: Rule, node: Judging, code: str, reason: str) -> None:
    """Record that a rule of `multi_rules` has no answer."""
    node.cannot(rule, code, "", reason)
    if rule.store:
        node.stored[rule.name] = Counted(0, 1)


def remarks(
    results: Results, rules: Sequence[Rule], matches: Mapping[str, Matches],
    judged: Mapping[str, Judging],
) -> list[Remark]:  # fmt: skip
    """Where the answer of SuperBench would differ, or might surprise."""
    found = [*about_nodes(judged), *about_rules(rules, matches)]
    old = [metric for metric in results.metrics if today(metric) != metric]
    if old:
        shown = few([f"{metric} is {today(metric)}" for metric in old], most=200)
        found.append(Remark(code="S204", text=shown))
    if results.ignored:
        found.append(Remark(code="S205", text=f"{results.ignored:,} metrics of the results"))
    commas = {
        issue.text for one in judged.values() for issue in one.issues
        if "," in issue.metric or (issue.rule and "," in criterion_text(rules, issue.rule))
    }  # fmt: skip
    if commas:
        found.append(Remark(code="S206", text=f"{len(commas):,} details of issues contain commas"))
    return found


def criterion_text(rules: Sequence[Rule], name: str) -> str:
    return next((rule.criterion.text for rule in rules if rule.name == name and rule.criterion), "")


def about_nodes(judged: Mapping[str, Judging]) -> list[Remark]:
    """One remark per rule and code, with the nodes that SuperBench would judge differently."""
    by: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    ignored: dict[str, list[str]] = defaultdict(list)
    for name, node in judged.items():
        for one in node.unjudged:
            by[one.code, one.rule][name].append(one.metric)
        for rule in node.ignored:
            ignored[rule].append(name)
    found = []
    for (code, rule), nodes in by.items():
        metrics = sorted({metric for some in nodes.values() for metric in some if metric})
        what = f": {few(metrics)}" if metrics else ""
        # a node that is defective by another rule is defective in SuperBench, too
        other = sorted(name for name in nodes if not judged[name].issues)
        found.append(Remark(code=code, rule=rule, nodes=other, text=f"{short(rule)}{what}"))
    for rule, names in ignored.items():
        alone = [
            name
            for name in names
            if {issue.rule for issue in judged[name].issues} <= set(judged[name].ignored)
        ]
        found.append(Remark(code="S203", rule=rule, nodes=sorted(alone),
                            text=f"{short(rule)}: put bool(...) around its criterion"))  # fmt: skip
    return found


def about_rules(rules: Sequence[Rule], matches: Mapping[str, Matches]) -> list[Remark]:
    """Remarks on how expressions of rules were read."""
    found = []
    for rule in rules:
        for pattern, one in matches[rule.name]:
            here = f"line {pattern.at.line}, {short(pattern.text)}"
            if one.cut:
                found.append(Remark(code="S201", rule=rule.name, text=f"{here}: {few(one.cut)}"))
            if one.longer and len(one.metrics) > 1:
                text = f"{here}: {few(one.longer)}"
                found.append(Remark(code="S202", rule=rule.name, text=text))
            if one.renamed:
                text = f"{here}: {few(one.renamed)}"
                found.append(Remark(code="S204", rule=rule.name, text=text))
    return found
