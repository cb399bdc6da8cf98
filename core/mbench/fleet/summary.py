"""Each metric over all nodes of a fleet, without a verdict."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mbench.fleet.columns import columns_of, expected
from mbench.fleet.spread import scale_of
from mbench.results.encoding import plain_record

if TYPE_CHECKING:
    from mbench.fleet.nodes import Fleet
    from mbench.results.encoding import Json

__all__ = ["FleetSummary", "MetricOverFleet", "NodeValue", "summarize"]


@dataclass(frozen=True, kw_only=True)
class NodeValue:
    """A metric of a node."""

    node: str
    """The node."""
    value: float
    """Geometric mean over its runs and their processes."""
    processes: int
    """Processes of all its runs."""


@dataclass(frozen=True, kw_only=True)
class MetricOverFleet:
    """A metric over the nodes with the same software on like machines."""

    case: str
    """What was measured."""
    metric: str
    """Which figure of it."""
    unit: str
    """Its unit."""
    better: str
    """Whether a `higher` or a `lower` value is better."""
    count: int
    """Number of nodes."""
    median: float
    """Their median."""
    spread: float | None
    """Their standard deviation, relative to the median; null for one node."""
    min: float
    """The smallest value."""
    max: float
    """The largest."""
    setup: dict[str, str]
    """Software and machine settings that differ between groups of the metric."""
    nodes: list[NodeValue]
    """The values."""


@dataclass(frozen=True, kw_only=True)
class FleetSummary:
    """All metrics of a fleet."""

    schema: int = 1
    """Version of this document."""
    nodes: list[str]
    """All nodes."""
    metrics: list[MetricOverFleet]
    """In the order of their names."""
    without: dict[str, list[str]] = field(default_factory=dict)
    """By metric, the nodes whose latest run has no value of it."""
    broken: dict[str, list[str]] = field(default_factory=dict)
    """By node, why some of its runs cannot be read."""

    def to_json(self) -> dict[str, Json]:
        """The document of `--format json`."""
        return plain_record(self)


def summarize(fleet: Fleet) -> FleetSummary:
    """Count, median, spread, smallest and largest value of every metric."""
    found, without = [], {}
    for name in expected(fleet):
        columns, _ = columns_of(fleet.nodes, name)
        counts = Counter(pair for column in columns for pair in set(column.values[0].setup))
        for column in columns:
            logs = column.logs
            center = float(np.median(logs))
            values = [
                NodeValue(node=value.node, value=column.shown(value.log),
                          processes=sum(value.processes))
                for value in column.values
            ]  # fmt: skip
            numbers = [one.value for one in values]
            setup = {key: text for key, text in column.values[0].setup
                     if counts[key, text] < len(columns)}  # fmt: skip
            found.append(
                MetricOverFleet(
                    case=name.case, metric=name.metric, unit=column.unit, better=column.better,
                    count=len(values), median=column.shown(center),
                    spread=float(scale_of(logs, center)) if len(values) > 1 else None,
                    min=min(numbers), max=max(numbers), setup=setup, nodes=values,
                )
            )  # fmt: skip
        have = {value.node for column in columns for value in column.values}
        lacking = [node.name for node in fleet.nodes if node.name not in have]
        if lacking:
            without[str(name)] = lacking
    broken = {
        node.name: why for node in fleet.nodes
        if (why := [run.problem for run in node.runs if run.problem])
    }  # fmt: skip
    return FleetSummary(nodes=[node.name for node in fleet.nodes], metrics=found, without=without,
                        broken=broken)  # fmt: skip
