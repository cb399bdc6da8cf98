"""What a run's comparisons show: every pair of cases, and all verdicts together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

from mbench import stats
from mbench.contract.axes import AXES, alike
from mbench.contract.metric import THROUGHPUT
from mbench.machine.disturbances import describe
from mbench.results.examined import Examined, examine
from mbench.results.figures import level, ratio
from mbench.results.gate import half_width_for
from mbench.results.metrics import chosen_metric
from mbench.results.pair_summary import PairSummary, RatioInterval
from mbench.results.proof import EQUAL
from mbench.results.replication import earlier_ratios, next_step, over_runs
from mbench.results.validity import unlikeness
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mbench.contract.metric import Metric
    from mbench.machine.disturbances import Disturbance
    from mbench.results.events import PastRatio
    from mbench.results.figures import TimedSteps
    from mbench.results.records import CaseRecord, ComparisonRecord, Run
    from mbench.results.replication import RatioOverRuns
    from mbench.spec.protocol import Protocol

__all__ = ["compare"]

ALL_PAIRS_UP_TO = 24
"""The most cases of which all pairs are compared: the number of pairs grows with the square, and
nobody reads a thousand."""
NO_ROUND = "no round was measured for both"


@dataclass(frozen=True)
class Compared:
    """Two cases, and their ratio if their processes ran in pairs and may be compared."""

    comparison: ComparisonRecord
    summary: PairSummary
    ratio: stats.Ratio | None = None
    past: Sequence[PastRatio] = ()
    """The ratios of the same two cases in earlier runs."""


def compare(
    run: Run,
    cases: Mapping[int, Examined] | None = None,
    *,
    metric: str = "",
    allowance: float | None = None,
) -> list[PairSummary]:
    """Every pair of cases of each comparison, in the order in which the frameworks were named.

    They are compared by the metric called `metric`, or by default by the first of their scenario.
    If they are not precise enough for a gate with that `allowance`, their `next_step` is what the
    gate needs.
    """
    known = examine(run) if cases is None else cases
    found = []
    for number in run.comparisons:
        together = [known[case.planned.case] for case in run.cases_of(number)]
        for baseline, other in paired(together):
            shown = chosen_metric(other.record.axes, metric)
            found.append(
                pair_up(run, baseline, other, metric=shown, against_first=baseline is together[0])
            )
    return judge(found, run, allowance=allowance)


def paired(together: Sequence[Examined]) -> Iterator[tuple[Examined, Examined]]:
    """Every pair of cases; in a comparison of more than ALL_PAIRS_UP_TO, the first with each other
    one.
    """
    if len(together) <= ALL_PAIRS_UP_TO:
        return combinations(together, 2)
    return ((together[0], other) for other in together[1:])


def pair_up(
    run: Run, baseline: Examined, other: Examined, *, metric: Metric | None, against_first: bool
) -> Compared:
    """What is known about two cases, except for the verdict if they ran in pairs."""
    pair, records = (baseline, other), (baseline.record, other.record)
    comparison = run.comparisons[other.record.planned.comparison]
    shared = alike([case.axes for case in records]) - {"compiler"}
    summary = PairSummary(
        cases=(baseline.position, other.position),
        baseline=baseline.label,
        framework=other.label,
        against_first=against_first,
        metric=metric.name if metric else None,
        shared={axis.name: axis.of(other.record.axes) for axis in AXES if axis.name in shared},
        compilers={one.label: one.record.axes.compiler for one in pair},
        setup=setup(*records),
        equal_work=equality(*records),
        reason=comparison.reason,
        disturbances=[f"{one.label}: {found.text}" for one in pair for found in one.disturbances],
    )
    ended = next(((one, end) for one in pair if (end := one.record.outcome)), None)
    doubts, blurs = unlikeness(*records)
    doubted = next(iter((*baseline.doubts, *other.doubts, *doubts)), "")
    if ended:
        one, end = ended
        reason = f"{one.label} is {end.outcome}: {end.reason}"
        summary = replace(summary, reason=reason, ended=one.position)
    elif doubted and summary.equal_work != "not proven":
        reason = f"no verdict: {doubted}"
        summary = replace(summary, equal_work="not proven", reason=reason)
    elif unclear := next(iter((*baseline.blurs, *other.blurs, *blurs)), ""):
        summary = replace(summary, reason=f"no verdict: {unclear}")
    elif metric is None:
        summary = replace(summary, reason=f"{records[0].axes.mode} has no such metric")
    elif lacking := next(lacking_of(metric, pair), ""):
        summary = replace(summary, reason=lacking)
    elif not run.protocol.claims_interval:
        summary = one_after_the_other(summary, metric, pair, run.protocol)
    elif found := in_pairs(summary, metric, baseline, other):
        return Compared(comparison, *found)
    else:
        summary = replace(summary, reason=NO_ROUND)
    return Compared(comparison, summary)


def lacking_of(metric: Metric, pair: tuple[Examined, Examined]) -> Iterator[str]:
    """Why a case that was measured has no value of the metric."""
    for one in pair:
        measured = any(process.blocks for process in one.record.processes.values())
        if measured and (why := one.steps(metric).lacking(one.record.axes.mode)):
            yield f"{one.label} has no {metric.title}: {why}"


def in_pairs(
    summary: PairSummary, metric: Metric, baseline: Examined, other: Examined
) -> tuple[PairSummary, stats.Ratio, list[PastRatio]] | None:
    """The summary, completed, the ratio over pairs of processes, and ratios from earlier runs; None
    if there is no pair.

    Calibrations and earlier runs are used for throughput only.
    """
    records = (baseline.record, other.record)
    by_throughput = metric.name == THROUGHPUT.name
    protocol, steps = baseline.run.protocol, (baseline.steps(metric), other.steps(metric))
    calibrated = [one.calibration.ratios for one in records if one.calibration]
    known = stats.known_scatter(calibrated) if by_throughput else None
    distorted = distortion(*steps, (*baseline.disturbances, *other.disturbances))
    steps = (distorted.without_left_out(steps[0]), distorted.without_left_out(steps[1]))
    found = ratio(*steps, known=known)
    if found is None:
        return None
    disturbed = {time_slice for one in (baseline, other) for what in one.disturbances
                 for time_slice in what.rounds}  # fmt: skip
    begins = {n: [one.round for one in p.builds] for n, p in other.record.processes.items()}
    number = baseline.record.planned.case
    past = [one for (base, _), one in other.record.past.items() if base == number]
    more = replace(
        summary,
        distorted=distorted.share,
        spoilt_pairs=len(distorted.spoilt),
        left_out_pairs=len(distorted.left_out),
        undetermined=distorted.undetermined,
        undisturbed=undisturbed(*steps, less=disturbed, known=known, protocol=protocol)
        if disturbed
        else None,
        between_builds=stats.between_builds(*(one.by_round for one in steps), begins=begins),
    )
    return more, found, past if by_throughput else []


@dataclass(frozen=True)
class Distortion:
    """Which rounds of two cases were disturbed so much that their ratio may be distorted."""

    rounds: frozenset[tuple[int, int]]
    """All rounds that both have, by process and round."""
    hit: frozenset[tuple[int, int]]
    """Those of `rounds` that were disturbed so much."""
    why: str
    """What disturbed most of these, in words."""

    @property
    def share(self) -> float:
        return len(self.hit) / len(self.rounds) if self.rounds else 0.0

    @property
    def processes(self) -> set[int]:
        return {process for process, _ in self.rounds}

    @cached_property
    def spoilt(self) -> set[int]:
        """The processes that have no undisturbed round."""
        return self.processes - {process for process, _ in self.rounds - self.hit}

    @property
    def left_out(self) -> set[int]:
        """Spoilt processes that do not count because there are enough others. Their pairs show
        nothing, and pairs that a run gains later could never outweigh them.
        """
        enough = len(self.processes) - len(self.spoilt) >= stats.FEWEST
        return self.spoilt if enough else set()

    def without_left_out(self, steps: TimedSteps) -> TimedSteps:
        left_out = self.left_out
        return steps.without({turn for turn in self.rounds if turn[0] in left_out})

    @property
    def undetermined(self) -> str | None:
        """Why the undisturbed rounds cannot decide; None if they can."""
        calm, made = len(self.processes) - len(self.spoilt), len(self.processes)
        if not self.spoilt or calm >= stats.FEWEST:
            return None
        if self.share == 1:
            return f"every round was disturbed: {self.why}"
        return f"only {calm} of {made} process pairs have an undisturbed round: {self.why}"


def distortion(baseline: TimedSteps, other: TimedSteps, found: Sequence[Disturbance]) -> Distortion:
    rounds = frozenset((process, at) for process, made in baseline.rounds.items() for at in made
                       if at in other.rounds.get(process, ()))  # fmt: skip
    distorting = [one for one in found if one.distorting]
    if not distorting:
        return Distortion(rounds, frozenset(), "")
    hit = rounds & {turn for one in distorting for turn in one.distorting}
    most = max(distorting, key=lambda one: len(one.distorting))
    alike = [one for one in distorting if (one.says, one.host) == (most.says, most.host)]
    return Distortion(rounds, hit, describe(alike, rounds=False))


def setup(*cases: CaseRecord) -> str | None:
    """The tier by which all cases are set up, including compilers; None if they have more than one,
    or if a compiler was asked for.
    """
    tiers = {case.axes.tier for case in cases}
    return tiers.pop() if len(tiers) == 1 and all(c.planned.own_compiler for c in cases) else None


def equality(*cases: CaseRecord) -> str:
    """What is known about whether the cases' work is equal."""
    proofs = [case.equal_work for case in cases]
    if None in proofs:
        return "not checked"
    if not all(proof and proof.proven for proof in proofs):
        return "not proven"
    return max((proof.grade for proof in proofs if proof), key=EQUAL.index)  # the weaker one


def one_after_the_other(
    summary: PairSummary, metric: Metric, pair: tuple[Examined, Examined], protocol: Protocol
) -> PairSummary:
    """The ratio under a protocol whose processes do not run in pairs: it has no interval."""
    found = [median(made) for one in pair if (made := one.steps(metric).processes)]
    if len(found) < 2:
        return replace(summary, reason=NO_ROUND)
    return replace(
        summary,
        ratio=metric.ratio(found[1], found[0]),
        verdict="undetermined",
        undetermined=f"{protocol.name} measures one case after the other, so drift of the "
        "machine affects the ratio too",
    )


def undisturbed(
    baseline: TimedSteps,
    other: TimedSteps,
    *,
    less: set[tuple[int, int]],
    known: stats.Scatter | None,
    protocol: Protocol,
) -> RatioInterval | None:
    """The ratio without the rounds in which either case was disturbed; None if no round is left."""
    found = ratio(baseline.without(less), other.without(less), known=known)
    if found is None:
        return None
    interval = found.interval(level(protocol) or stats.CONFIDENCE)
    return RatioInterval(
        ratio=interval.value,
        low=interval.low,
        high=interval.high,
        process_pairs=interval.replicates,
    )


def judge(compared: Sequence[Compared], run: Run, *, allowance: float | None) -> list[PairSummary]:
    """Each pair with what its ratio shows, judged together with all others of the run."""
    confidence = level(run.protocol) or stats.CONFIDENCE
    ratios = [one.ratio for one in compared if one.ratio]
    intervals = [found.interval(confidence) for found in ratios]
    count = sum(interval.low is not None for interval in intervals)
    shown = iter(zip(intervals, stats.verdicts(ratios, confidence=confidence), strict=True))
    return [
        one.summary
        if one.ratio is None
        else judged(one, one.ratio, *next(shown), count, run, allowance=allowance)
        for one in compared
    ]


def judged(
    one: Compared,
    found: stats.Ratio,
    interval: stats.Interval,
    verdict: str,
    count: int,
    run: Run,
    *,
    allowance: float | None,
) -> PairSummary:
    """A pair with its verdict and its interval, which is one of `count` in the run."""
    step, protocol = None, run.protocol
    undetermined = why_not(interval, count) if verdict == "undetermined" else None
    every = over_runs(interval, one.past)
    if verdict in ("faster", "slower") and (why := not_to_be_named(verdict, one, every, run)):
        verdict, undetermined = "undetermined", why
    if one.summary.undetermined:
        verdict, undetermined = "undetermined", one.summary.undetermined
    if isinstance(protocol, Adaptive) and one.summary.metric == THROUGHPUT.name:
        step = next_step(
            interval, protocol=protocol, set_seconds=one.comparison.set_seconds, run=run.id,
            usable=interval.replicates + one.summary.left_out_pairs - one.summary.spoilt_pairs,
            spoilt=one.summary.spoilt_pairs,
            wanted=None if allowance is None else half_width_for(interval, allowance=allowance),
        )  # fmt: skip
    return replace(
        one.summary,
        ratio=interval.value,
        low=interval.low,
        high=interval.high,
        median=found.median,
        process_pairs=len(found.pairs),
        far_off=found.far_off,
        pairs=[pair.total for pair in found.pairs],
        verdict=verdict,
        undetermined=undetermined,
        detectable=stats.detectable(found.known, pairs=len(found.pairs)) if found.known else None,
        next_step=step,
        past=earlier_ratios(interval, one.past),
        over_runs=every,
    )


def not_to_be_named(
    verdict: str, one: Compared, every: RatioOverRuns | None, run: Run
) -> str | None:
    """Why no winner is named, although the pairs of this run name one.

    If runs of ten pairs of the same thing were ended at their first winner, 15 of 100 would name
    one. And effects that last for a whole run do not show in its interval, but in how much runs
    differ (benchmarks/false_winners.py).
    """
    if one.comparison.reason is None and run.status != "complete":
        return f"{verdict} so far, but the run did not end as planned"
    if every is not None and not every.agrees_with(verdict):
        assert every.low is not None
        assert every.high is not None
        return (
            f"{verdict} in this run, but not over all {every.runs} runs of both on this machine: "
            f"their ratio is {every.low:.3g} to {every.high:.3g}"
        )
    return None


def why_not(interval: stats.Interval, count: int) -> str:
    """Why there is a ratio but no verdict."""
    lacking = stats.FEWEST - interval.replicates
    if lacking > 0:
        more = "pair is" if lacking == 1 else "pairs are"
        return f"{lacking} more process {more} needed"
    alone = stats.verdict(interval)
    return f"{alone} on its own, but not after correction for the {count} verdicts of this run"
