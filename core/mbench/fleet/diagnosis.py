"""Types for the diagnosis of a fleet; `to_json` is the document that scripts read.

Every finding has a stable code, its verdict, its severity, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.console import printable
from mbench.results.encoding import plain_record

if TYPE_CHECKING:
    from mbench.results.encoding import Json

__all__ = ["CODES", "ERROR", "NORMAL", "NOTE", "VERDICTS", "WARNING", "Cell", "Code", "Diagnosis",
           "Finding", "MetricDiagnosis", "NodeDiagnosis", "finding"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A node's metric, as part of a finding."""

    case: str
    """What was measured."""
    metric: str
    """Which figure of it."""
    value: float | None = None
    """The node's value, in the metric's unit."""
    unit: str = ""
    """Unit of the value."""
    slowdown: float | None = None
    """How far below the fleet's median, as a share; negative where it is above."""
    low: float | None = None
    """Lower end of the 95 % interval of `slowdown`."""
    high: float | None = None
    """Upper end of that interval."""
    scales: float | None = None
    """The slowdown in scales of the fleet."""
    needed: float | None = None
    """How many scales a slowdown must have to be found."""
    conformal_p: float | None = None
    """Share of the baseline's nodes that are at least as slow, counting this node."""
    runs: list[float] = field(default_factory=list)
    """How far each run of the node lies below the median, oldest first."""
    reason: str = ""
    """Why there is no value, in one line."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing to know or to do."""

    code: str
    """Its kind, see docs/fleet.md."""
    severity: str
    """`error`, `warning` or `note`."""
    verdict: str
    """The verdict on its nodes; empty where it accuses none."""
    nodes: list[str]
    """The nodes that it is about; empty where it is about the fleet."""
    text: str
    """What was found, in one sentence."""
    action: str
    """What to do next."""
    command: str = ""
    """The command to type on the node; empty where it is not known."""
    cells: list[Cell] = field(default_factory=list)
    """The metrics that move together, the worst first."""


@dataclass(frozen=True, kw_only=True)
class NodeDiagnosis:
    """The verdict on a node."""

    name: str
    """Its name."""
    verdict: str
    """The worst of its findings, or `normal`."""
    judged: int
    """Number of metrics in which it was compared with the others."""
    not_judged: int
    """Number of metrics of the others in which it was not compared."""
    runs: int
    """Number of runs that were read."""
    codes: list[str]
    """The codes of its findings."""


@dataclass(frozen=True, kw_only=True)
class MetricDiagnosis:
    """A metric over the fleet."""

    case: str
    """What was measured."""
    metric: str
    """Which figure of it."""
    unit: str
    """Its unit."""
    better: str
    """Whether a `higher` or a `lower` value is better."""
    nodes: int
    """Number of comparable nodes."""
    median: float | None
    """Their median, or the baseline's."""
    spread: float | None
    """Spread of healthy nodes, as a standard deviation relative to the median."""
    finds: float | None
    """The smallest slowdown of a node that would be found 19 times in 20."""
    reason: str = ""
    """Why nodes could not be judged by it; empty where they were."""


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Everything that was found out about a fleet."""

    schema: int = 1
    """Version of this document."""
    false_alarms: float
    """Share of healthy fleets in which a node may be called slow by chance."""
    margin: float
    """Slowdown that is of no interest."""
    baseline: str = ""
    """File and date of the baseline; empty where nodes are compared with each other."""
    nodes: list[NodeDiagnosis]
    """In the order of their names."""
    findings: list[Finding]
    """The worst first."""
    metrics: list[MetricDiagnosis]
    """In the order of their names."""
    remarks: list[str] = field(default_factory=list)
    """What else readers need to know to understand the verdicts."""

    def named(self, verdict: str) -> list[str]:
        """The nodes with this verdict."""
        return [node.name for node in self.nodes if node.verdict == verdict]

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of nodes by verdict, the worst first."""
        found = {verdict: len(self.named(verdict)) for verdict in VERDICTS}
        return {verdict: count for verdict, count in found.items() if count}

    @property
    def exit_code(self) -> int:
        """1 if a node or the fleet needs attention, 3 if nothing could be judged."""
        looked_at = {finding.code for finding in self.findings if finding.severity != "note"}
        undecided = {"F304", "F502"}
        if looked_at - undecided:
            return 1
        if not any(node.judged for node in self.nodes):
            return 3
        return 1 if looked_at else 0

    def to_json(self) -> dict[str, Json]:
        """The document of `--format json`."""
        return {**plain_record(self), "counts": dict(self.counts), "exit_code": self.exit_code}


def finding(
    code: str, text: str, *, nodes: list[str], command: str = "",
    cells: list[Cell] | None = None, action: str = "",
) -> Finding:  # fmt: skip
    """A finding of kind `code`; `action` replaces its usual action if that is impossible."""
    kind = CODES[code]
    text = printable(" ".join(text.split()))  # names and reasons come from files
    return Finding(code=code, severity=kind.severity, verdict=kind.verdict, nodes=nodes, text=text,
                   action=action or kind.action, command=command, cells=cells or [])  # fmt: skip


def worst_of(findings: list[Finding]) -> str:
    """The verdict that a node gets from its findings."""
    called = {one.verdict for one in findings}
    return next(verdict for verdict in VERDICTS if verdict in called or verdict == NORMAL)


ERROR, WARNING, NOTE = "error", "warning", "note"
NORMAL = "normal"


@dataclass(frozen=True, kw_only=True)
class Code:
    """A kind of finding."""

    code: str
    """The code by which scripts know it; it is never reused."""
    verdict: str
    """The verdict on a node with such a finding; empty where it says nothing about a node."""
    severity: str
    """`error`: take the node out; `warning`: look at it; `note`: know it."""
    says: str
    """What it means."""
    action: str
    """What to do next."""


CODES = {
    code.code: code
    for code in (
        Code(code="F101", verdict="wrong", severity=ERROR,
             says="results differ from mbench's reference in float64",
             action="take the node out of service, and test its memory and processors"),
        Code(code="F102", verdict="wrong", severity=ERROR,
             says="results are not bit-for-bit equal to those of identical nodes with the same "
             "software",
             action="take the node out of service, and test its memory and processors"),
        Code(code="F103", verdict="cannot tell", severity=ERROR,
             says="nodes differ in their results, and there is no majority",
             action="run mbench verify on each of them: its reference shows which is wrong"),
        Code(code="F201", verdict="failed", severity=ERROR,
             says="a case failed, crashed, hung or ran out of memory",
             action="read the log given in the run; measure again once the cause is fixed"),
        Code(code="F202", verdict="failed", severity=ERROR,
             says="a run cannot be read, is incomplete, or was changed after it was written",
             action="copy it again from its node, or remove it and measure again"),
        Code(code="F203", verdict="missing", severity=ERROR,
             says="a node has no run, or lacks a metric that the others have",
             action="measure on the node what the others measured"),
        Code(code="F204", verdict="missing", severity=ERROR,
             says="a value is impossible: not a number, infinite, 0 or negative",
             action="check the tool that wrote it; measure again"),
        Code(code="F301", verdict="slow", severity=ERROR,
             says="slower than the fleet in at least two independent measurements",
             action="take the node out of service; compare clocks, memory, cooling and other "
             "load with a normal node"),
        Code(code="F302", verdict="suspect", severity=WARNING,
             says="slower than the fleet in the only measurement there is",
             action="measure again on the node, and save the run in its folder: a second run "
             "decides"),
        Code(code="F303", verdict="cannot tell", severity=WARNING,
             says="slow in some of its runs and not in others",
             action="measure again on the node; look for causes that come and go: heat, other "
             "load"),
        Code(code="F304", verdict="cannot tell", severity=WARNING,
             says="the node's own processes scatter too much to tell",
             action="measure again on the idle node, with more processes"),
        Code(code="F305", verdict="", severity=NOTE,
             says="faster than the fleet",
             action="check whether it does the same work, and whether the others are held back"),
        Code(code="F401", verdict="different software", severity=WARNING,
             says="versions or settings differ from the fleet's: not comparable",
             action="install what the others have, and measure again"),
        Code(code="F402", verdict="different machine", severity=WARNING,
             says="processor, cores, memory or devices differ from the fleet's",
             action="find out what is missing or switched off; diagnose other models separately"),
        Code(code="F403", verdict="two groups", severity=WARNING,
             says="the fleet falls into two groups, neither of which is the exception",
             action="find out what differs between the two; diagnose each separately"),
        Code(code="F404", verdict="", severity=NOTE,
             says="computed with a different number of threads from the others",
             action="compare the CPU quota and the visible cores of the nodes"),
        Code(code="F501", verdict="", severity=WARNING,
             says="the whole fleet is slower than its baseline",
             action="find out what changed for all nodes since then; make a new baseline if the "
             "change is permanent"),
        Code(code="F502", verdict="cannot tell", severity=WARNING,
             says="too few comparable nodes for a verdict, or nodes that differ too much",
             action="measure on at least 5 idle nodes, or diagnose against a baseline"),
        Code(code="F503", verdict="", severity=NOTE,
             says="results are not the same in every process, so nodes are not compared by them",
             action="nothing, if the framework promises no more"),
    )
}  # fmt: skip

VERDICTS = ("wrong", "failed", "slow", "missing", "suspect", "different machine",
            "different software", "two groups", "cannot tell", NORMAL)  # fmt: skip
"""The worst first: a node gets the worst verdict of its findings."""
