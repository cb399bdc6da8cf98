"""A metric: how a figure is computed from timed steps, and which direction is better.

A scenario defines its metrics. The core asks a metric for the value of one process in one round,
and of a whole process; intervals, ratios, verdicts and reports follow from those, whatever is
counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["HIGHER", "JOULES_PER_SAMPLE", "LATENCIES", "LATENCY_MEAN", "LOWER", "METRICS",
           "PERCENTILES", "THROUGHPUT", "CaseFacts", "Metric", "Timed", "merged",
           "named_latencies", "percentile", "steps_for"]  # fmt: skip

HIGHER, LOWER = "higher", "lower"
PERCENTILES = (50, 90, 95, 99, 99.9)


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Timed steps of one process: those of one round, or of several together.

    If a case has several ranks, these are the times of the slowest one.
    """

    steps: int
    """Number of steps."""
    nanoseconds: Sequence[int]
    """Duration of each block of steps; with `each`, of each step."""
    each: bool = False
    """Whether each step was synchronised and timed individually."""
    marks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By name, when something happened in each step, in nanoseconds from the step's beginning."""
    joules: float | None = None
    """Energy that the case's devices used during these steps; None if it was not measured."""


@dataclass(frozen=True, kw_only=True)
class CaseFacts:
    """What the steps of a case consist of, by the formulas of its workload."""

    samples: str
    """What a sample is called, in the plural: "images"."""
    samples_per_step: int
    """Samples per step on all devices together."""
    samples_per_item: int = 1
    """Samples in each item of a batch: the tokens of a sequence, if those are counted."""
    devices: int
    """Number of devices."""
    flops_per_sample: float
    """Floating-point operations per sample."""
    bytes_per_sample: int | None = None
    """Bytes that an operator must read and write at least; None for a model."""
    message_bytes: int | None = None
    """Bytes that devices exchange for a sample; None if a step does more than exchange."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A figure of a case, computed from its timed steps."""

    name: str
    """Its name for `--metric` and its key in documents: "latency_p50"."""
    title: str
    """Its name in table headings: "median latency"."""
    unit: str
    """Its unit; "{samples}" stands for what a sample is called: "{samples}/s"."""
    of: Callable[[Timed, CaseFacts], float | None]
    """The value computed from some steps, above 0; None if they do not support one."""
    better: str = HIGHER
    """Whether a higher or a lower value is better."""
    each: bool = False
    """Whether it needs steps that were timed individually."""
    by_round: bool = True
    """Whether single rounds have a value too, whose mean is about the value of the process. The
    percentile of a whole process does not follow from those of its rounds."""
    says: str = ""
    """What it is, in a few words, for help and documentation."""
    needs: str = ""
    """What `of` needs in order to return a value, in words: "an energy meter"."""
    verdicts: tuple[str, str] = ("better", "worse")
    """What to call a case that is shown to be better, or worse: ("faster", "slower")."""

    def __post_init__(self) -> None:
        if self.better not in (HIGHER, LOWER):
            raise ValueError(f"metric {self.name}: {self.better!r} is neither higher nor lower")

    def unit_of(self, facts: CaseFacts) -> str:
        """The unit with the name of the samples filled in."""
        return self.unit.format(samples=facts.samples)

    def goodness(self, value: float) -> float:
        """The value, or its inverse if lower values are better."""
        return value if self.better == HIGHER else 1 / value

    def ratio(self, value: float, baseline: float) -> float:
        """How many times as good `value` is: above 1 if it is better than the baseline's.

        It is value / baseline if higher values are better, else baseline / value.
        """
        return self.goodness(value) / self.goodness(baseline)


def merged(parts: Iterable[Timed]) -> Timed:
    """The steps of several rounds together; there must be at least one, all of the same kind."""
    found = list(parts)
    if len(found) == 1:
        return found[0]
    marks: dict[str, list[int]] = {}
    for part in found:
        for name, values in part.marks.items():
            marks.setdefault(name, []).extend(values)
    joules = [part.joules for part in found]
    return Timed(
        steps=sum(part.steps for part in found),
        nanoseconds=[value for part in found for value in part.nanoseconds],
        each=found[0].each,
        marks=marks,
        joules=None if None in joules else sum(filter(None, joules)),
    )


def percentile(values: Sequence[float], rank: float) -> float | None:
    """The nearest-rank percentile, or None if the sample is too small to support it.

    At least one value must lie beyond it: 1,000 values are needed for 99.9, 10 for 90.
    """
    count = len(values)
    if not count or count * (1 - rank / 100) < 1 - 1e-9:
        return None
    return sorted(values)[math.ceil(count * rank / 100 - 1e-9) - 1]


def steps_for(rank: float) -> int:
    """The smallest sample size that supports a percentile."""
    return math.ceil(100 / (100 - rank) - 1e-9)


def _throughput(timed: Timed, facts: CaseFacts) -> float | None:
    return timed.steps * facts.samples_per_step / (sum(timed.nanoseconds) / 1e9)


def _latency_mean(timed: Timed, facts: CaseFacts) -> float | None:
    return sum(timed.nanoseconds) / len(timed.nanoseconds) / 1e6


def _joules_per_sample(timed: Timed, facts: CaseFacts) -> float | None:
    # A counter that has not moved has not measured anything.
    return timed.joules / (timed.steps * facts.samples_per_step) if timed.joules else None


def _latency(rank: float) -> Metric:
    def of(timed: Timed, facts: CaseFacts) -> float | None:
        found = percentile(timed.nanoseconds, rank)
        return None if found is None else found / 1e6

    return Metric(
        name=f"latency_p{rank:g}",
        title=f"latency p{rank:g}",
        unit="ms",
        of=of,
        better=LOWER,
        each=True,
        by_round=False,
        says=f"duration of a step, percentile {rank:g}",
        needs=f"{steps_for(rank):,} such steps in each process",
        verdicts=("faster", "slower"),
    )


THROUGHPUT = Metric(
    name="throughput",
    title="throughput",
    unit="{samples}/s",
    of=_throughput,
    says="samples per second",
    verdicts=("faster", "slower"),
)
LATENCY_MEAN = Metric(
    name="latency_mean",
    title="mean latency",
    unit="ms",
    of=_latency_mean,
    better=LOWER,
    each=True,
    says="mean duration of a step",
    verdicts=("faster", "slower"),
)
LATENCIES = (LATENCY_MEAN, *map(_latency, PERCENTILES))
JOULES_PER_SAMPLE = Metric(
    name="joules_per_sample",
    title="energy per sample",
    unit="J",
    of=_joules_per_sample,
    better=LOWER,
    says="energy used per sample",
    needs="an energy meter",
)


def named_latencies(
    latencies: Iterable[Metric], name: str, title: str, *, says: str, of_token: bool = False
) -> tuple[Metric, ...]:
    """`latencies` under another name; with `of_token`, divided by the samples of an item."""
    return tuple(
        replace(
            latency,
            name=latency.name.replace("latency", name),
            title=f"mean {title}" if latency is LATENCY_MEAN else f"{title} {latency.title[8:]}",
            of=_shared(latency.of) if of_token else latency.of,
            says=says if latency is LATENCY_MEAN else f"{says}, {latency.says.split(', ')[1]}",
        )
        for latency in latencies
    )


def _shared(of: Callable[[Timed, CaseFacts], float | None]) -> Callable[..., float | None]:
    def shared(timed: Timed, facts: CaseFacts) -> float | None:
        found = of(timed, facts)
        return None if found is None else found / facts.samples_per_item

    return shared


METRICS = (THROUGHPUT, *LATENCIES, JOULES_PER_SAMPLE)
"""The metrics that every kind of step has."""
