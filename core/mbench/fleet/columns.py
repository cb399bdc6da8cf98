"""One metric over all comparable nodes of a fleet, as logarithms of goodness."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from statistics import NormalDist, median
from typing import TYPE_CHECKING

import numpy as np

from mbench.contract.metric import HIGHER, LOWER
from mbench.fleet.nodes import MetricName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.fleet.nodes import Fleet, Node, NodeRun, Reading

__all__ = ["Column", "Setup", "Value", "columns_of", "difference_of", "expected", "setup_of"]

Setup = tuple[tuple[str, str], ...]
"""All that must be equal for nodes to be compared: software and machine, by name."""
UNUSUAL = 0.99
"""Probability that the scatter of a healthy node's own processes counts as usual."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """A node's value of a metric, over all of its runs that count."""

    node: str
    runs: tuple[str, ...]
    """Names of the runs, oldest first."""
    logs: tuple[float, ...]
    """For each run, the mean over its processes of the logarithm of goodness."""
    processes: tuple[int, ...]
    """Number of processes of each run."""
    variances: tuple[float, ...]
    """Variance of the processes of each run; NaN for a single one."""
    setup: Setup
    middle: float = 0.0
    """Median of the logarithms of all its processes."""
    around: float = 0.0
    """Median of their distances from `middle`: a single outlying process does not move it."""
    left_out: int = 0
    """Earlier runs with other software or another machine."""
    threads: int = 0
    command: str = ""
    """The command to type on the node for another such run."""

    @property
    def log(self) -> float:
        """The node's value: each of its runs has the same weight."""
        return math.fsum(self.logs) / len(self.logs)


@dataclass(frozen=True, kw_only=True)
class Column:
    """A metric of nodes with the same software on like machines."""

    metric: MetricName
    unit: str
    better: str
    values: Sequence[Value]
    errors: np.ndarray = field(repr=False)
    """Standard error of each value, from its own processes; NaN where it is unknown."""
    unusual: np.ndarray = field(repr=False)
    """Whether each node's own processes scatter more than is usual for the metric."""
    usual: float = math.nan
    """Standard error of a value with the usual number of processes."""
    scatter: float = math.nan
    """Standard deviation of the processes of a node."""

    @property
    def logs(self) -> np.ndarray:
        return np.array([value.log for value in self.values])

    def shown(self, log: float) -> float:
        """A logarithm of goodness in the metric's unit."""
        return math.exp(log if self.better == HIGHER else -log)


def columns_of(
    nodes: Sequence[Node], metric: MetricName
) -> tuple[list[Column], Mapping[str, Reading]]:
    """A metric of all nodes, in comparable groups, the largest first. Also, by node, the latest
    reading if that has no value to be judged.
    """
    lacking: dict[str, Reading] = {}
    groups: dict[Setup, list[Value]] = {}
    about: Reading | None = None
    for node in nodes:
        found = [(run, run.readings[metric]) for run in node.runs if metric in run.readings]
        good = [(run, one) for run, one in found if not one.problem]
        if found and found[-1][1].problem:
            lacking[node.name] = found[-1][1]  # its latest run did not measure it
        elif good:
            about = about or good[-1][1]
            value = value_of(node.name, good, metric)
            groups.setdefault(value.setup, []).append(value)
    ordered = sorted(groups.items(), key=lambda one: (-len(one[1]), one[0]))
    unit, better = (about.unit, about.better) if about else ("", HIGHER)
    return [column(metric, unit, better, values) for _, values in ordered], lacking


def value_of(name: str, found: Sequence[tuple[NodeRun, Reading]], metric: MetricName) -> Value:
    """The value over all runs with the software and machine of the latest run."""
    setups = [setup_of(run, metric.case) for run, _ in found]
    kept = [one for one, setup in zip(found, setups, strict=True) if setup == setups[-1]]
    sign = -1 if found[-1][1].better == LOWER else 1
    logs, variances, everything = [], [], []
    for _, reading in kept:
        each = [sign * math.log(value) for value in reading.values]
        mean = math.fsum(each) / len(each)
        everything += each
        logs.append(mean)
        spread = math.fsum((one - mean) ** 2 for one in each)
        variances.append(spread / (len(each) - 1) if len(each) > 1 else math.nan)
    last, middle = kept[-1][0], median(everything)
    return Value(
        node=name,
        runs=tuple(run.run for run, _ in kept),
        logs=tuple(logs),
        processes=tuple(len(reading.values) for _, reading in kept),
        variances=tuple(variances),
        setup=setups[-1],
        middle=middle,
        around=median(abs(one - middle) for one in everything),
        left_out=len(found) - len(kept),
        threads=last.threads.get(metric.case, 0),
        command=last.command,
    )


def setup_of(run: NodeRun, case: str) -> Setup:
    """The software and the machine of a case, by name."""
    own = run.computed.get(case)
    parts = {**run.software, **(own.software if own else {}), **run.machine}
    return tuple(sorted(parts.items()))


def column(metric: MetricName, unit: str, better: str, values: Sequence[Value]) -> Column:
    """A column with the error of every value, from the processes of all nodes together, or from a
    node's own processes where they scatter far more than the others'.
    """
    own = np.array([pooled(value) for value in values])  # variance, degrees of freedom
    variance, freedom = own[:, 0], own[:, 1]
    known = freedom > 0
    errors = np.full(len(values), np.nan)
    unusual = np.zeros(len(values), bool)
    usual = scatter = math.nan
    if known.any():
        typical = float(
            np.median(variance[known] / np.array([median_share(one) for one in freedom[known]]))
        )
        counts = np.array([sum(value.processes) for value in values])
        limits = np.array([limit_of(one, UNUSUAL) for one in freedom])
        unusual = known & (variance > limits * max(typical, 1e-18))
        errors = np.sqrt(np.where(unusual, variance, typical) / counts)
        scatter = math.sqrt(typical)
        usual = scatter / math.sqrt(float(np.median(counts)))
    return Column(metric=metric, unit=unit, better=better, values=values, errors=errors,
                  unusual=unusual, usual=usual, scatter=scatter)  # fmt: skip


def pooled(value: Value) -> tuple[float, float]:
    """The variance of a node's processes within their runs, and its degrees of freedom."""
    parts = [(variance * (count - 1), count - 1)
             for variance, count in zip(value.variances, value.processes, strict=True)
             if count > 1]  # fmt: skip
    freedom = sum(one for _, one in parts)
    return (math.fsum(part for part, _ in parts) / freedom, freedom) if freedom else (math.nan, 0)


def median_share(freedom: float) -> float:
    """Median of the sample variance of normal values over the true one (Wilson, Hilferty)."""
    return float((1 - 2 / (9 * freedom)) ** 3)


@cache
def limit_of(freedom: float, probability: float) -> float:
    """The limit, in true variances, below which a node's variance stays with `probability`."""
    if not freedom:
        return math.inf
    spread = 2 / (9 * freedom)
    return float((1 - spread + NormalDist().inv_cdf(probability) * math.sqrt(spread)) ** 3)


def expected(fleet: Fleet) -> list[MetricName]:
    """All metrics of which any node has a reading, in order."""
    counts: Counter[MetricName] = Counter()
    for node in fleet.nodes:
        counts.update({name for run in node.runs for name in run.readings})
    return sorted(counts)


def difference_of(setup: Setup, usual: Setup) -> str:
    """In words, in which names a setup differs from the usual one."""
    ours, theirs = dict(setup), dict(usual)
    names = [name for name in sorted(ours.keys() | theirs.keys())
             if ours.get(name) != theirs.get(name)]  # fmt: skip
    return "; ".join(
        f"{name} {ours.get(name, 'not set')}, the others {theirs.get(name, 'not set')}"
        for name in names
    )
