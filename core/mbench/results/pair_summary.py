"""Two frameworks of a comparison in a run's summary: their ratio, its interval and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mbench.contract.quantities import Count, Number, Relative, Share
from mbench.results.replication import EarlierRatio, NextStep, RatioOverRuns
from mbench.stats.intervals import FEWEST

__all__ = ["PairSummary", "RatioInterval"]


@dataclass(frozen=True, kw_only=True)
class RatioInterval:
    """A ratio with its 95 % interval."""

    ratio: float
    """The ratio."""
    low: float | None
    """Lower end of its 95 % interval."""
    high: float | None
    """Upper end."""
    process_pairs: Number
    """Number of process pairs that have undisturbed rounds."""


@dataclass(frozen=True, kw_only=True)
class PairSummary:
    """Two frameworks of a comparison, with what their ratio shows."""

    cases: tuple[Number, Number]
    """Positions of the baseline and the other in `cases`."""
    baseline: str
    """Label of the baseline."""
    framework: str
    """Label of the other."""
    against_first: bool
    """Whether the baseline is the first framework of the comparison."""
    shared: Mapping[str, object] = field(metadata={"flat": "axis"})
    """Each of the [axes](#axes) in which both cases are alike, except `compiler`."""
    compilers: dict[str, str]
    """The compiler of each label."""
    metric: str | None
    """The metric that is compared; null if these cases do not have the one that was asked for."""
    setup: str | None
    """The tier by which both are set up, including compilers; null if their tiers differ, or if a
    compiler was asked for."""
    equal_work: str
    """`proven`, `shown in fp32`, `not proven`, `not checked`."""
    ratio: float | None = None
    """How many times as good the other is as the baseline, from
    [totals](methodology.md#the-interval): its value divided by the baseline's, or, if a lower value
    of the metric is better, the baseline's divided by its own. Null if they were not compared."""
    low: float | None = None
    """Lower end of its 95 % interval; null where there are fewer than three pairs, and in published
    protocols."""
    high: float | None = None
    """Upper end."""
    median: float | None = None
    """The ratio from the pairs' [middle rounds](methodology.md#stalls); null if nothing ran in
    pairs."""
    process_pairs: Number = 0
    """Number of pairs behind the interval; 0 in published protocols."""
    far_off: Number = 0
    """Number of those pairs that lie far from the others; 0 with fewer than ten pairs."""
    between_builds: float | None = None
    """Standard deviation of the logarithm of the ratio between builds of a process pair, including
    the noise of rounds; null with one build."""
    pairs: list[float] = field(default_factory=list)
    """The ratio of each pair; empty where there is none."""
    verdict: str | None = None
    """`faster`, `slower`, `alike`, `no difference shown`, `depends on stalls`, `undetermined`: see
    [Verdicts](methodology.md#verdicts). `faster` means better by the metric, whatever that is. Null
    if they were not compared."""
    undetermined: str | None = None
    """Why the verdict is `undetermined`."""
    detectable: Relative | None = None
    """The difference that this many pairs [find in 80 of 100
    comparisons](methodology.md#testing-your-machine-mbench-calibrate); null if neither case was
    calibrated, or with fewer than three pairs."""
    next_step: NextStep | None = None
    """What it would take to know more; null if the goal was reached, or if the duration of a set is
    not known."""
    reason: str | None
    """Why measuring stopped, or why there is no ratio; null where the run did not get that far."""
    ended: Number | None = field(default=None, metadata={"internal": True})
    """Position of the case that fell short, if that is the reason."""
    disturbances: list[str]
    """What disturbed either case, each with the case's label."""
    distorted: Share | None = None
    """Share of the rounds of both in which a disturbance was so strong that it may have [distorted
    the ratio](methodology.md#disturbed-measurements); null if nothing ran in pairs."""
    spoilt_pairs: Count = 0
    """Number of pairs in which every round was distorted."""
    left_out_pairs: Count = 0
    """Number of those that count in no figure: all of them, if three or more others remain."""
    undisturbed: RatioInterval | None = None
    """The ratio without the rounds in which either case was disturbed; null if no round was
    disturbed, or if none is left."""
    past: list[EarlierRatio] = field(default_factory=list)
    """What [earlier runs](methodology.md#runs-that-contradict-each-other) on this machine said
    about the same two cases, latest first."""
    over_runs: RatioOverRuns | None = None
    """The ratio over those runs and this one; null if there are fewer than three."""

    @property
    def calm_pairs(self) -> int:
        """The number of pairs that are not spoilt."""
        return self.process_pairs + self.left_out_pairs - self.spoilt_pairs

    @property
    def believable(self) -> bool:
        """Whether no pair is spoilt, or enough pairs for an answer are not."""
        return not self.spoilt_pairs or self.calm_pairs >= FEWEST
