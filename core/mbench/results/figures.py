"""The figures of one case from its raw values, by the arithmetic of the protocol that measured
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import TYPE_CHECKING

from mbench import stats
from mbench.contract.metric import THROUGHPUT, CaseFacts, Timed, merged
from mbench.contract.quantities import Bytes, BytesPerSecond, Milliseconds, SamplesPerSecond, Steps
from mbench.results.machine import joules

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mbench.contract.metric import Metric
    from mbench.results.events import Block
    from mbench.results.records import CaseRecord, Process
    from mbench.spec.protocol import Protocol

__all__ = [
    "Bandwidth",
    "Figure",
    "StepTimes",
    "Throughput",
    "TimedSteps",
    "bandwidth",
    "center",
    "facts_of",
    "figure",
    "level",
    "level_of",
    "mean_step_time",
    "rates",
    "ratio",
    "step_times",
    "throughput",
    "timed",
    "timed_rounds",
    "timed_steps",
]  # fmt: skip

SINGLE_STEPS = "--single-steps"
"""The option that times steps one by one in every mode."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The value of a metric for one case."""

    value: float
    """The [centre of the processes](glossary.md#figures); in published protocols their median."""
    low: float | None
    """Lower end of the 95 % interval over processes; null with fewer than three, and in published
    protocols."""
    high: float | None
    """Upper end."""
    unit: str
    """Unit of the values: `images/s`, `sequences/s`, `ms`."""
    processes: list[float]
    """Value of each process."""


@dataclass(frozen=True, kw_only=True)
class Throughput(Figure):
    """Samples per second, on all devices together."""

    rounds: list[list[float]]
    """Value of each block, one array for each process."""
    mean_of_rates: SamplesPerSecond | None
    """Mean of the rates of steps timed one by one. SuperBench prints this; it is too high. Null
    without such steps."""


@dataclass(frozen=True, kw_only=True)
class StepTimes:
    """Durations of steps."""

    mean: Milliseconds
    """Total time of all blocks divided by the number of their steps."""
    samples: Steps
    """Steps that were timed one by one; 0 in training, except with `superbench` or
    `--single-steps`."""
    percentiles: Mapping[str, Milliseconds | None] = field(
        metadata={"flat": tuple(f"p{rank:g}" for rank in stats.PERCENTILES)}
    )
    """Percentile of the steps that were timed one by one; null if there are too few."""
    lacking: Mapping[str, str]
    """The reason for each percentile that is null."""
    latency_mean: Milliseconds | None
    """Mean of the steps that were timed one by one."""
    fewest: Steps = field(metadata={"internal": True})
    """Steps behind the percentiles: all that were timed one by one, or the fewest in any epoch."""


@dataclass(frozen=True, kw_only=True)
class Bandwidth:
    """How fast a collective exchanges data."""

    message_bytes: Bytes
    """What devices exchange per call, as nccl-tests counts it."""
    algorithm_bytes_per_second: BytesPerSecond
    """`message_bytes` divided by the time of a call."""
    bus_bytes_per_second: BytesPerSecond
    """Algorithm bandwidth times the collective's factor: the least that a link carries."""


def timed(process: Process) -> list[Block]:
    """The blocks that throughput is computed from: those timed whole, else those timed step by
    step.
    """
    return [block for block in process.blocks if not block.each] or process.blocks


def facts_of(case: CaseRecord) -> CaseFacts:
    """What metrics need to know about a case."""
    planned = case.planned
    return CaseFacts(
        samples=planned.samples,
        samples_per_step=case.samples_per_step,
        samples_per_item=planned.samples_per_item,
        devices=case.axes.devices,
        flops_per_sample=planned.flops_per_sample,
        bytes_per_sample=planned.bytes_per_sample,
        message_bytes=planned.message_bytes,
    )


class TimedSteps:
    """The steps of a case from which a metric is computed, in `rounds` by process and round.

    Every process has at least one round.
    """

    def __init__(
        self, metric: Metric, facts: CaseFacts, rounds: Mapping[int, Mapping[int, Timed]]
    ) -> None:
        self.metric, self.facts, self.rounds = metric, facts, rounds

    @property
    def unit(self) -> str:
        return self.metric.unit_of(self.facts)

    def value(self, process: int, rounds: Collection[int]) -> float | None:
        """The metric over some rounds of a process; None if they do not support it."""
        return self.of(merged(self.rounds[process][at] for at in rounds))

    def of(self, steps: Timed) -> float | None:
        value = self.metric.of(steps, self.facts)
        return value if value is not None and 0 < value < math.inf else None

    @cached_property
    def processes(self) -> list[float]:
        """The value of each process that has one."""
        found = [self.value(process, rounds) for process, rounds in self.rounds.items()]
        return [value for value in found if value is not None]

    @cached_property
    def by_round(self) -> dict[int, dict[int, float]]:
        """The value of each round that has one, by process."""
        if not self.metric.by_round:
            return {process: {} for process in self.rounds}
        return {
            process: {
                at: value for at, one in rounds.items() if (value := self.of(one)) is not None
            }
            for process, rounds in self.rounds.items()
        }

    def figure(self, *, level: float | None) -> Figure | None:
        """The figure over all processes, with an interval if a level is given; None if no process
        has a value.
        """
        return figure(self.processes, self.unit, level=level) if self.processes else None

    def lacking(self, mode: str) -> str:
        """Why no process has a value; empty where one has."""
        if self.processes:
            return ""
        if self.metric.each and not self.rounds:
            return f"no step of {mode} was timed on its own; {SINGLE_STEPS} does that"
        return f"it needs {self.metric.needs}" if self.metric.needs else "no process has a value"

    def without(self, left_out: Collection[tuple[int, int]]) -> TimedSteps:
        """These steps without some rounds, each given as process and round."""
        rounds = {
            process: {at: one for at, one in found.items() if (process, at) not in left_out}
            for process, found in self.rounds.items()
        }
        kept = {process: found for process, found in rounds.items() if found}
        return TimedSteps(self.metric, self.facts, kept)


def timed_steps(case: CaseRecord, metric: Metric = THROUGHPUT) -> TimedSteps:
    """The steps of `case` from which `metric` is computed."""
    return TimedSteps(metric, facts_of(case), timed_rounds(case, each=metric.each))


def timed_rounds(case: CaseRecord, *, each: bool) -> dict[int, dict[int, Timed]]:
    """By process and round: with `each`, the steps that were timed one by one; else those of the
    blocks that throughput is computed from.
    """
    spent = joules(case)
    found = {}
    for process in case.processes.values():
        blocks = [one for one in process.blocks if one.each] if each else timed(process)
        rounds: dict[int, list[Timed]] = {}
        for block in blocks:
            one = Timed(
                steps=block.steps,
                nanoseconds=block.nanoseconds,
                each=block.each,
                marks=block.marks,
                joules=spent.get(id(block)),
            )
            rounds.setdefault(block.round, []).append(one)
        if rounds:
            found[process.warm.process] = {at: merged(rounds[at]) for at in sorted(rounds)}
    return found


def ratio(
    baseline: TimedSteps, other: TimedSteps, *, known: stats.Scatter | None = None
) -> stats.Ratio | None:
    """How many times as good `other` is as `baseline`, over the pairs of processes that have common
    rounds.

    None if there is no such pair.
    """
    metric = baseline.metric
    sides = (baseline, other)
    by_round = [
        {p: {at: metric.goodness(v) for at, v in rounds.items()} for p, rounds in found.items()}
        for found in (side.by_round for side in sides)
    ]
    pairs = []
    for process in sorted(baseline.rounds.keys() & other.rounds.keys()):
        common = sorted(baseline.rounds[process].keys() & other.rounds[process].keys())
        if common:
            totals = [side.value(process, common) for side in sides]
            if None not in totals:
                good = [metric.goodness(value) for value in totals if value is not None]
                rounds = [found[process] for found in by_round]
                pairs.append(stats.pair_of(*rounds, totals=(good[0], good[1])))
    found = [pair for pair in pairs if pair]
    return stats.Ratio(found, known) if found else None


def rates(case: CaseRecord) -> dict[int, dict[int, float]]:
    """process -> round -> samples per second."""
    return timed_steps(case).by_round


def level(protocol: Protocol) -> float | None:
    """The level at which intervals are computed so that they hold with 95 %; None if the protocol
    claims no interval.
    """
    return level_of(protocol.claims_interval, stopped=protocol.stops_by_width)


def level_of(claims_interval: bool, *, stopped: bool) -> float | None:
    """`level` for a protocol with these properties. An interval whose own width decided when to
    stop is partly narrow by luck.
    """
    if not claims_interval:
        return None
    return stats.STOPPED_CONFIDENCE if stopped else stats.CONFIDENCE


def center(processes: Sequence[float], *, level: float | None) -> stats.Interval:
    """The centre of the processes' values with its interval; without a level their median, without
    ends.
    """
    if level is None:
        return stats.Interval(median(processes), None, None, len(processes))
    return stats.geometric_interval(processes, confidence=level)


def figure(processes: list[float], unit: str, *, level: float | None) -> Figure:
    """The centre of the processes' values, with its interval if a level is given."""
    found = center(processes, level=level)
    return Figure(value=found.value, low=found.low, high=found.high, unit=unit, processes=processes)


def throughput(
    case: CaseRecord, *, level: float | None, steps: TimedSteps | None = None
) -> Throughput | None:
    """The centre of the processes, with an interval if the protocol claims one. `steps` are the
    case's, if they have already been collected.
    """
    steps = steps or timed_steps(case)
    values = steps.processes
    if not values:
        return None
    found = center(values, level=level)
    batch = case.samples_per_step
    single = steps_one_by_one(case)
    return Throughput(
        value=found.value,
        low=found.low,
        high=found.high,
        unit=steps.unit,
        processes=values,
        rounds=[list(of_process.values()) for of_process in steps.by_round.values()],
        mean_of_rates=fmean(batch * 1e9 / value for value in single) if single else None,
    )


def bandwidth(case: CaseRecord, speed: Figure | None) -> Bandwidth | None:
    """Bytes per second as nccl-tests counts them, for steps that do nothing but exchange data."""
    size, share = case.planned.message_bytes, case.planned.bus_share
    if speed is None or size is None or share is None:
        return None
    algorithm = size * speed.value / case.axes.devices  # one call of all devices
    return Bandwidth(
        message_bytes=size,
        algorithm_bytes_per_second=algorithm,
        bus_bytes_per_second=algorithm * share,
    )


def steps_one_by_one(case: CaseRecord) -> list[int]:
    """Nanoseconds of each step that was synchronised and timed on its own."""
    blocks = [block for process in case.processes.values() for block in process.blocks]
    return [value for block in blocks if block.each for value in block.nanoseconds]


def step_times(case: CaseRecord, *, by_epoch: bool = False) -> StepTimes | None:
    """Mean step time; percentiles of the steps timed one by one, and why some are lacking.

    With `by_epoch`, percentiles are computed for each epoch and averaged.
    """
    mean = mean_step_time(case)
    if mean is None:
        return None
    single = sorted(value / 1e6 for value in steps_one_by_one(case))  # once for all percentiles
    samples = epochs(case) if by_epoch else [single]
    percentiles: dict[str, float | None] = {}
    lacking = {}
    fewest = min(map(len, samples), default=0)
    for rank in stats.PERCENTILES:
        found = [stats.percentile(sample, rank) for sample in samples]
        known = [value for value in found if value is not None]
        complete = bool(known) and len(known) == len(found)
        percentiles[f"p{rank:g}"] = fmean(known) if complete else None
        if not single:
            lacking[f"p{rank:g}"] = f"no step of {case.axes.mode} was timed on its own"
        elif not complete:
            where = " in an epoch" if len(samples) > 1 else ""
            lacking[f"p{rank:g}"] = (
                f"needs {stats.steps_for(rank):,} steps, but there are only {fewest:,}{where}"
            )
    return StepTimes(
        mean=mean,
        samples=len(single),
        percentiles=percentiles,
        lacking=lacking,
        latency_mean=fmean(single) if single else None,
        fewest=fewest,
    )


def mean_step_time(case: CaseRecord) -> float | None:
    """Milliseconds, from the blocks that throughput is computed from; None if there are none."""
    blocks = [block for process in case.processes.values() for block in timed(process)]
    if not blocks:
        return None
    elapsed = sum(sum(block.nanoseconds) for block in blocks)
    return elapsed / sum(block.steps for block in blocks) / 1e6


def epochs(case: CaseRecord) -> list[list[float]]:
    """Milliseconds of the steps that were timed one by one, for each epoch of each process."""
    found: dict[tuple[int, int], list[float]] = {}
    for process in case.processes.values():
        for block in process.blocks:
            if block.each:
                sample = found.setdefault((process.warm.process, block.round), [])
                sample += [value / 1e6 for value in block.nanoseconds]
    return list(found.values())
