"""Every finding on a fleet: its code, which stays, its verdict, its severity, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CODES", "ERROR", "NORMAL", "NOTE", "VERDICTS", "WARNING", "Code"]

ERROR, WARNING, NOTE = "error", "warning", "note"
NORMAL = "normal"


@dataclass(frozen=True, kw_only=True)
class Code:
    """A kind of finding."""

    code: str
    """By which scripts know it; never used for anything else."""
    verdict: str
    """What a node with such a finding is called; empty where it says nothing of a node."""
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
             says="results differ in bits from those of identical nodes with the same software",
             action="take the node out of service, and test its memory and processors"),
        Code(code="F103", verdict="cannot tell", severity=ERROR,
             says="nodes differ in their results, and there is no majority",
             action="run mbench verify on each of them: its reference says who is wrong"),
        Code(code="F201", verdict="failed", severity=ERROR,
             says="a case failed, crashed, hung or ran out of memory",
             action="read the log that the run names; measure again once it is fixed"),
        Code(code="F202", verdict="failed", severity=ERROR,
             says="a run cannot be read, broke off, or was changed after it was written",
             action="copy it again from its node, or remove it and measure again"),
        Code(code="F203", verdict="missing", severity=ERROR,
             says="a node has no run, or lacks a metric that the others have",
             action="measure on the node what the others measured"),
        Code(code="F204", verdict="missing", severity=ERROR,
             says="a value is impossible: not a number, infinite, 0 or negative",
             action="look into the tool that wrote it; measure again"),
        Code(code="F301", verdict="slow", severity=ERROR,
             says="slower than the fleet, in two independent measurements at least",
             action="take the node out of service; compare clocks, memory, cooling and other "
             "load with a normal node"),
        Code(code="F302", verdict="suspect", severity=WARNING,
             says="slower than the fleet in the only measurement there is",
             action="measure again on the node, into its folder: a second run decides"),
        Code(code="F303", verdict="cannot tell", severity=WARNING,
             says="slow in some of its runs and not in others",
             action="measure again on the node; look for what comes and goes: heat, other load"),
        Code(code="F304", verdict="cannot tell", severity=WARNING,
             says="the node's own processes scatter too much to tell",
             action="measure again on the idle node, with more processes"),
        Code(code="F305", verdict="", severity=NOTE,
             says="faster than the fleet",
             action="look at whether it does the same work, and whether the others are held back"),
        Code(code="F401", verdict="different software", severity=WARNING,
             says="other versions or settings than the fleet: not comparable",
             action="install what the others have, and measure again"),
        Code(code="F402", verdict="different machine", severity=WARNING,
             says="another processor, other cores, memory or devices than the fleet's",
             action="find out what is missing or switched off; diagnose other models apart"),
        Code(code="F403", verdict="two groups", severity=WARNING,
             says="the fleet falls into two groups, neither of which is the exception",
             action="find out what differs between the two; diagnose each by itself"),
        Code(code="F404", verdict="", severity=NOTE,
             says="computed with another number of threads than the others",
             action="compare the CPU quota and the visible cores of the nodes"),
        Code(code="F501", verdict="", severity=WARNING,
             says="the whole fleet is slower than its baseline",
             action="find out what changed for all nodes since then; make a new baseline if it is "
             "to stay"),
        Code(code="F502", verdict="cannot tell", severity=WARNING,
             says="too few comparable nodes for a verdict, or nodes that differ too much",
             action="measure on at least 5 idle nodes, or diagnose against a baseline"),
        Code(code="F503", verdict="", severity=NOTE,
             says="results that are not the same in every process, so nodes are not compared by "
             "them",
             action="nothing, if the framework promises no more"),
    )
}  # fmt: skip

VERDICTS = ("wrong", "failed", "slow", "missing", "suspect", "different machine",
            "different software", "two groups", "cannot tell", NORMAL)  # fmt: skip
"""The worst first: a node is called by the worst of its findings."""
