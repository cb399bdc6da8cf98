"""The state of a fleet's diagnosis in progress."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbench.fleet.diagnosis import Finding, MetricDiagnosis
    from mbench.fleet.judge import Standing
    from mbench.fleet.nodes import Fleet, MetricName, Reading

__all__ = ["State"]


@dataclass(kw_only=True)
class State:
    """A diagnosis in progress."""

    fleet: Fleet
    alarms: float
    margin: float
    findings: list[Finding] = field(default_factory=list)
    judged: dict[str, set[MetricName]] = field(default_factory=lambda: defaultdict(set))
    not_judged: dict[str, set[MetricName]] = field(default_factory=lambda: defaultdict(set))
    metrics: dict[MetricName, MetricDiagnosis] = field(default_factory=dict)
    standings: list[Standing] = field(default_factory=list)
    lacking: dict[str, dict[MetricName, Reading | None]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """By node, the metrics that it lacks: the reading that says why, or None without a reading."""
    apart: dict[tuple[str, str], list[tuple[str, MetricName]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By code and difference: the nodes and metrics that are not comparable."""
