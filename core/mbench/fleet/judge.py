"""Compares the nodes of each metric with each other, or with a baseline.

A node is slow if two things hold together. It is farther below the others than chance would put any
node in any metric of a healthy fleet, except for the permitted share of false alarms. And its whole
interval is beyond the margin that is of no interest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from mbench import stats
from mbench.fleet.columns import Column, Value, median_share
from mbench.fleet.nodes import MetricName
from mbench.fleet.spread import (
    FEWEST_NODES,
    HEAVIEST,
    Threshold,
    best_split,
    critical,
    scale_of,
    split_limit,
    standings,
    tail_of,
)
from mbench.stats.intervals import quantile as student

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["INDEX", "FastSide", "Judged", "Reference", "fast_side", "finds", "index_of",
           "judge", "reference_of", "stand", "threshold_of"]  # fmt: skip

INDEX = MetricName(case="all metrics together", metric="")
"""The mean over a node's metrics, weighted by precision: it shows what slows all of them a bit."""
MEDIAN_ERROR = 1.2533
"""Standard error of a median, relative to that of a mean."""
GROUP_ALARMS = 0.03
"""Share of fleets with evenly spread values that are taken for two groups by chance; with normal
values it is a fifth of that."""
WIDE = 2.0
"""A node is noisy if most of its processes are at least this many standard deviations off: three
times the usual median of their distances."""
POWER = 1.645
"""Number of standard errors beyond which 19 of 20 slow nodes are found."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """A metric's distribution in a healthy fleet, from a baseline."""

    center: float
    scale: float
    nodes: int
    logs: np.ndarray = field(repr=False)
    """Values of its nodes."""


@dataclass(kw_only=True)
class Standing:
    """Where the nodes of a metric stand."""

    column: Column
    centers: np.ndarray
    scales: np.ndarray
    """The scale for each node, including its own usual error."""
    reference: Reference | None = None
    split: tuple[int, float] | None = None
    """If there are two groups: the number of nodes in the slower one, and how far it is below."""
    z: np.ndarray = field(init=False)
    run_variance: float = field(init=False)
    """Variance among runs of the same node; 0 where too few nodes have several."""

    def __post_init__(self) -> None:
        self.z = (self.column.logs - self.centers) / self.scales
        several = [value for value in self.column.values if len(value.logs) > 1]
        parts = [float(np.var(value.logs, ddof=1)) / median_share(len(value.logs) - 1)
                 for value in several]  # fmt: skip
        self.run_variance = float(np.median(parts)) if len(parts) >= FEWEST_NODES else 0.0

    @property
    def spread_of(self) -> int:
        """The number of nodes that determine the scale, plus one."""
        return self.reference.nodes + 1 if self.reference else len(self.column.values)

    def of_runs(self, at: int) -> np.ndarray:
        """How many scales each run of a node is off."""
        value = self.column.values[at]
        more = self.run_variance * (1 - 1 / len(value.logs))
        scale = math.hypot(self.scales[at], math.sqrt(more))
        found: np.ndarray = (np.array(value.logs) - self.centers[at]) / scale
        return found


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A node in one metric."""

    value: Value
    metric: MetricName
    log: float
    verdict: str
    """slow, suspect, intermittent, noisy, fast, two groups or normal."""
    gap: float
    """Logarithm of the node's value relative to the others' median."""
    low: float
    high: float
    """Ends of its 95 % interval."""
    z: float
    needed: float
    runs: tuple[float, ...]
    """The gap of each run."""
    conformal: float | None = None


def stand(
    column: Column, *, margin: float, tests: int, reference: Reference | None = None
) -> Standing:
    """Where the nodes stand; the scale is never smaller than the error that processes show."""
    logs = column.logs
    if reference:
        count = len(logs)
        center = np.full(count, reference.center)
        spread = np.full(count, reference.scale)
    else:
        center, spread = standings(logs)
    floor = column.usual if math.isfinite(column.usual) else 0.0
    spread = np.maximum(np.maximum(spread, floor), 1e-9)
    if math.isfinite(column.usual):
        # If a node's own processes scatter unusually, that excess is no property of the node.
        more = np.where(column.unusual, column.errors**2 - column.usual**2, 0.0)
        spread = np.sqrt(spread**2 + np.maximum(more, 0.0))
    found = Standing(column=column, centers=center, scales=spread, reference=reference)
    if reference is None and len(logs) > FEWEST_NODES:
        below, apart, deviations = best_split(np.sort(logs))
        limit = split_limit(len(logs), tests, GROUP_ALARMS)
        if below and apart > -math.log1p(-margin) and deviations > limit:
            found.split = (below, apart)
    return found


@dataclass(frozen=True, kw_only=True)
class FastSide:
    """What the nodes on the fast side of all metrics say about the tails."""

    farthest: float
    """How many scales the farthest node is off, including single runs."""
    tail: float
    """How heavy the heaviest tail of a metric is, as the reciprocal of its index."""


def fast_side(standings: Sequence[Standing]) -> FastSide:
    found, tails = [0.0], []
    for one in standings:
        if one.split:
            continue
        known = one.z
        if one.reference:
            base = one.reference
            known = (base.logs - base.center) / max(base.scale, 1e-9)
            found.append(float(np.max(known)))
        tails.append(tail_of(known))
        found.append(float(np.max(one.z)))
        found += [float(np.max(one.of_runs(at))) for at, value in enumerate(one.column.values)
                  if len(value.logs) > 1]  # fmt: skip
    return FastSide(farthest=max(found), tail=max(tails, default=HEAVIEST))


def threshold_of(standing: Standing, *, alarms: float, tests: int, fast: FastSide) -> Threshold:
    """The distance from which a node of this metric is not off by chance."""
    nodes = standing.spread_of
    if standing.reference is not None:
        # Each node that is new to a baseline is a separate test.
        tests = max(1, round(tests * len(standing.column.values) / nodes))
    return critical(nodes, tests, alarms, farthest=fast.farthest, tail=fast.tail)


def judge(
    standing: Standing,
    threshold: Threshold,
    *,
    margin: float,
    level: float = stats.CONFIDENCE,
) -> list[Judged]:
    """The verdicts on all nodes of a metric."""
    column, limit = standing.column, math.log1p(-margin)
    count = standing.spread_of
    unseen = math.log1p(-finds(standing, threshold, margin=margin))
    all_freedom = sum(sum(value.processes) - len(value.processes) for value in column.values)
    found = []
    for at, value in enumerate(column.values):
        center, scale, z = standing.centers[at], standing.scales[at], float(standing.z[at])
        own = float(column.errors[at])
        error = own if math.isfinite(own) else scale
        freedom = max(1.0, count - 2.0)
        if column.unusual[at]:
            freedom = max(1.0, sum(value.processes) - float(len(value.processes)))
        elif math.isfinite(own):
            freedom = max(1.0, float(all_freedom))
        whole = math.hypot(error, MEDIAN_ERROR * scale / math.sqrt(count))
        reach = quantile(freedom, level) * whole
        gap = value.log - center
        runs = tuple(log - center for log in value.logs)
        conformal = None
        if standing.reference is not None:
            worse = int(np.sum(standing.reference.logs <= value.log))
            conformal = (1 + worse) / (standing.reference.nodes + 1)
        found.append(
            Judged(
                value=value, metric=column.metric, log=value.log, gap=gap, low=gap - reach,
                high=gap + reach, z=z, needed=threshold.value, runs=runs, conformal=conformal,
                verdict="two groups" if standing.split else verdict_of(
                    z, runs, standing.of_runs(at), needed=threshold.value, high=gap + reach,
                    low=gap - reach, limit=limit, count=count,
                    unseen=unseen, noisy=is_noisy(column, at, center + unseen),
                ),
            )
        )  # fmt: skip
    return found


def is_noisy(column: Column, at: int, unseen: float) -> bool:
    """Whether the processes of a node differ too much to say anything about it.

    Where most of them agree with each other and with other nodes, only a single one was disturbed.
    """
    value = column.values[at]
    wide = WIDE * column.scatter
    return bool(column.unusual[at]) and (value.around > wide or value.middle < unseen)


def verdict_of(
    z: float, runs: Sequence[float], z_of_runs: np.ndarray, *, needed: float, high: float,
    low: float, limit: float, unseen: float, noisy: bool, count: int,
) -> str:  # fmt: skip
    """The verdict on a node in one metric; `unseen`: logarithm of the slowdown that would be found
    in others.

    All runs count. A node with several is slow only if two thirds of them are, at least two, and if
    the later ones show it by themselves, since these were not chosen for being slow.
    """
    if z < -needed and high < limit:
        if len(runs) < 2:
            return "suspect"
        beyond = sum(run < limit for run in runs)
        later = float(np.mean(z_of_runs[1:]))
        if beyond >= max(2, 2 * len(runs) / 3) and later < -quantile(max(1.0, count - 2.0), 0.9):
            return "slow"
        return "intermittent"
    if len(runs) > 1 and any(
        one < -needed and run < limit for one, run in zip(z_of_runs, runs, strict=True)
    ):
        return "intermittent"
    if z > needed and low > -limit:
        return "fast"
    if noisy and low < unseen:
        return "noisy"
    return "normal"


QUANTILES: dict[tuple[float, float], float] = {}


def quantile(freedom: float, level: float) -> float:
    """A quantile of Student's distribution for an interval of that level; computed once."""
    key = (min(freedom, 1000.0), level)
    if key not in QUANTILES:
        QUANTILES[key] = student(key[0], 0.5 + level / 2)
    return QUANTILES[key]


def finds(standing: Standing, threshold: Threshold, *, margin: float) -> float:
    """The smallest slowdown that would be found 19 times in 20, as a share."""
    scale = float(np.median(standing.scales))
    error = standing.column.usual
    error = error if math.isfinite(error) else scale
    by_chance = threshold.value * scale + POWER * scale
    by_margin = -math.log1p(-margin) + (1.96 + POWER) * error
    return -math.expm1(-max(by_chance, by_margin))


def index_of(standings: Sequence[Standing]) -> Column | None:
    """All metrics of nodes together, weighted by how precise each is, run by run.

    None if there is only one metric. A node counts if it has at least half of the weight.
    """
    used = [one for one in standings if not one.split]
    if len(used) < 2:
        return None
    sums: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    typical: dict[str, Value] = {}
    total = 0.0
    for one in used:
        weight = 1 / float(np.median(one.scales)) ** 2
        total += weight
        for at, value in enumerate(one.column.values):
            typical.setdefault(value.node, value)
            error = float(one.column.errors[at])
            error = error if math.isfinite(error) else float(one.scales[at])
            of_node = sums.setdefault(value.node, {})
            for run, log in zip(value.runs, value.logs, strict=True):
                of_node.setdefault(run, []).append((weight, log - one.centers[at], error))
    values, errors = [], []
    for node, runs in sums.items():
        kept = {run: parts for run, parts in runs.items()
                if math.fsum(weight for weight, _, _ in parts) >= total / 2}  # fmt: skip
        if not kept:
            continue
        logs = [weighted(parts) for parts in kept.values()]
        parts = next(iter(kept.values()))
        whole = math.fsum(weight for weight, _, _ in parts)
        error = math.sqrt(math.fsum((w * e) ** 2 for w, _, e in parts)) / whole
        values.append(
            Value(node=node, runs=tuple(kept), logs=tuple(logs), processes=(0,) * len(kept),
                  variances=(math.nan,) * len(kept), setup=(), command=typical[node].command)
        )  # fmt: skip
        errors.append(error)
    if len(values) < FEWEST_NODES:
        return None
    return Column(metric=INDEX, unit="", better="higher", values=values,
                  errors=np.array(errors), unusual=np.zeros(len(values), bool))  # fmt: skip


def weighted(parts: Sequence[tuple[float, float, float]]) -> float:
    whole = math.fsum(weight for weight, _, _ in parts)
    return math.fsum(weight * gap for weight, gap, _ in parts) / whole


def reference_of(column: Column) -> Reference:
    """What a baseline stores of a metric."""
    logs = column.logs
    center = float(np.median(logs))
    scale = float(scale_of(logs, center))
    return Reference(center=center, scale=scale, nodes=len(logs), logs=np.sort(logs))
