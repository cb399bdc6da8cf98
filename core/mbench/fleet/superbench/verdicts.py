"""What rules found: types, and a code for each way in which SuperBench's own answer differs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.results.encoding import plain_record

if TYPE_CHECKING:
    from mbench.results.encoding import Json

__all__ = ["ACCEPTED", "CODES", "DEFECTIVE", "NOT_JUDGED", "Issue", "NodeVerdict", "Remark",
           "RuleDiagnosis", "Unjudged"]  # fmt: skip

DEFECTIVE, NOT_JUDGED, ACCEPTED = "defective", "not judged", "accepted"

CODES = {
    "S101": "a metric is missing; SuperBench accepts the node",
    "S102": "a value is infinite or beyond the range of a float; SuperBench computes with it",
    "S103": "a value is not a number; SuperBench ends with an error, for all nodes",
    "S104": "a baseline is missing or 0; SuperBench ends with an error, for all nodes",
    "S105": "an expression matches no metric of any node; SuperBench accepts all nodes",
    "S106": "a criterion has no value, for example when it divides by zero; SuperBench "
            "accepts the node",
    "S107": "a rule of multi_rules depends on something not judged; SuperBench counts it as passed",
    "S201": "an expression would match in the middle of a number; SuperBench counts such metrics",
    "S202": "an expression also matches metrics with longer names, as in SuperBench",
    "S203": "a criterion is not a Python bool; SuperBench counts the rule as passed",
    "S204": "names from v0.4 and before count as today's; SuperBench treats them as different",
    "S205": "a name is too long, and is ignored",
    "S206": "details contain commas; SuperBench counts these as issues",
    "S301": "rules of a summary share a category; SuperBench shows only the last of them",
    "S302": "aggregated metrics have no rank; SuperBench drops parts of their names",
    "S303": "the expression of an aggregate does not match; SuperBench drops parts of the names",
    "S304": "values that are not numbers are left out of statistics",
}  # fmt: skip
"""Codes never change. S1: a node is not judged. S2: how a rule was read. S3: summaries."""


@dataclass(frozen=True, kw_only=True)
class Issue:
    """A metric, or for `multi_rules` a rule, that makes a node defective."""

    rule: str
    """The rule."""
    category: str
    """Its category; FailedTest for a metric that a failure_check misses."""
    metric: str
    """The metric; empty for `multi_rules`."""
    text: str
    """In words, with the numbers."""
    value: float | None = None
    """The node's value."""
    baseline: float | None = None
    """The baseline that it was compared with, in `variance`."""
    variance: float | None = None
    """(value - baseline) / baseline."""


@dataclass(frozen=True, kw_only=True)
class Unjudged:
    """What a rule could not decide about a node."""

    rule: str
    """The rule."""
    code: str
    """Which kind: see CODES."""
    metric: str
    """The metric, or the expression that matches none."""
    reason: str
    """The reason in words."""


@dataclass(frozen=True, kw_only=True)
class NodeVerdict:
    """The verdict on a node."""

    name: str
    """Its name."""
    verdict: str
    """`defective`, `not judged` or `accepted`."""
    categories: list[str]
    """The categories of its issues, sorted."""
    issues: list[Issue]
    """Each metric and rule that makes it defective."""
    unjudged: list[Unjudged]
    """What could not be judged."""
    judged: int
    """Checks of a metric that had an outcome."""


@dataclass(frozen=True, kw_only=True)
class Remark:
    """Where a rule is read differently than in SuperBench, or SuperBench's answer would differ."""

    code: str
    """Which kind: see CODES."""
    text: str
    """In words, with the rule and names."""
    rule: str = ""
    """The rule; empty where it is about the files."""
    nodes: list[str] = field(default_factory=list)
    """The nodes on which SuperBench's verdict would differ."""


@dataclass(frozen=True, kw_only=True)
class RuleDiagnosis:
    """Everything that a file of rules says about all nodes."""

    schema: int = 1
    """Version of this document."""
    rules: str
    """The file of rules."""
    results: str
    """The file of results."""
    baseline: str
    """The file of the baseline; empty without one."""
    nodes: list[NodeVerdict]
    """In the order of their names."""
    remarks: list[Remark]
    """In the order of their codes."""

    def named(self, verdict: str) -> list[str]:
        """The nodes with that verdict."""
        return [node.name for node in self.nodes if node.verdict == verdict]

    @property
    def exit_code(self) -> int:
        """1 if a node needs attention, 3 if no rule said anything about any node, else 0."""
        if self.named(DEFECTIVE):
            return 1
        if not any(node.judged for node in self.nodes):
            return 3
        return 1 if self.named(NOT_JUDGED) else 0

    def to_json(self) -> dict[str, Json]:
        """The document of `--format json`."""
        counts: dict[str, Json] = {v: len(self.named(v)) for v in (DEFECTIVE, NOT_JUDGED, ACCEPTED)}
        return {**plain_record(self), "counts": counts, "exit_code": self.exit_code}
