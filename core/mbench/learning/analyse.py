"""Derives what a training run shows from what it recorded: three layers, tables, verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from mbench.console import counted
from mbench.contract.precision import PRECISIONS
from mbench.learning.judge import EXACT, FAR, HIDDEN_TIMES, distances, envelope, follow
from mbench.learning.task import ACCURACY
from mbench.stats import stdev
from mbench.stats.equivalence import (
    DIFFERENT_ERROR,
    FEWEST,
    Equivalence,
    correlation,
    equivalence,
    misses_differ,
    pairs_for_power,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.learning.judge import Departure
    from mbench.learning.record import Record
    from mbench.results.training import Answers, SeedRun

__all__ = ["ALIKE", "DIFFERENT", "NOT_SHOWN", "UNEQUAL", "ArmSummary", "LearningSummary",
           "PairSummary", "Spread", "analyse"]  # fmt: skip

ALIKE, DIFFERENT, NOT_SHOWN = "learn alike", "do not learn alike", "not shown"
UNEQUAL = "not the same training"
"""For frameworks that fail layer 1 or 2: what they reach does not answer the question."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Statistics over seeds. Infinite values are counted, and left out of the rest."""

    count: int
    infinite: int
    mean: float | None
    deviation: float | None
    least: float | None
    most: float | None
    median: float | None
    """Includes infinite values; None if the median itself is infinite."""

    @classmethod
    def of(cls, figures: Sequence[float]) -> Spread:
        known = [x for x in figures if math.isfinite(x)]
        middle = median(figures) if figures else math.inf
        return cls(
            count=len(figures), infinite=len(figures) - len(known),
            mean=fmean(known) if known else None,
            deviation=stdev(known) if len(known) > 1 else None,
            least=min(known, default=None), most=max(known, default=None),
            median=middle if math.isfinite(middle) else None,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ArmSummary:
    """One framework. Times are in seconds; time to target is infinite if the target is missed."""

    label: str
    framework: str
    version: str
    how: str
    """Precision, compiler, device and threads."""
    exact: float | None
    """Layer 1: the largest relative difference in float64; None if there is no float64."""
    exact_at: str
    """Where that difference is: a tensor, or something else."""
    exact_holds: bool | None
    """Whether layer 1 holds; None if unknown, or if rounding alone could explain the difference."""
    rounding: float
    """How far rounding can move the result in float64: the largest relative difference when the
    start is changed by one unit in the last place."""
    path: Departure | None
    """Layer 2; None if there is nothing to compare with."""
    accuracy: Spread
    """Accuracy on held-out data after the last step."""
    loss: Spread
    """Loss on held-out data after the last step."""
    steps_to_target: Spread
    seconds_per_step: Spread
    evaluation_seconds: Spread
    """For all evaluations of a seed."""
    step_seconds: Spread
    """For all steps of a seed, without evaluations."""
    time_to_train: Spread
    """All steps and evaluations."""
    time_to_target: Spread
    """Steps and evaluations up to the target."""
    ended: str
    """Why the framework could not go on; empty if it did."""
    differences: list[str]


@dataclass(frozen=True, kw_only=True)
class PairSummary:
    """A framework compared with the baseline, over the seeds that both have."""

    label: str
    baseline: str
    seeds: int
    steps: Equivalence | None
    """For the logarithm of steps to target; None if a seed missed the target."""
    final: Equivalence
    """For the target's metric after the last step."""
    missed: int
    missed_baseline: int
    correlation: float | None
    """Correlation of the two frameworks' steps to target, seed by seed."""
    verdict: str
    reason: str
    power: float | None
    """How often this many seeds would show that two equal frameworks learn alike, as estimated
    from these seeds."""
    needed: int | None
    """Seeds needed for a power of 80 %, given the scatter that these seeds make likely. None where
    that is unknown or far too many."""
    steps_ratio: Interval | None
    """Steps to target, of the framework over the baseline."""
    speed_ratio: Interval | None
    """Seconds per step, of the framework over the baseline."""
    time_ratio: Interval | None
    """Time to target; its logarithm is nearly the sum of those of the other two ratios."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A ratio with its 95 % interval, whose ends are None with fewer than three seeds."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class LearningSummary:
    run: str
    title: str
    task: str
    task_digest: str
    data_digest: str
    metric: str
    target: float
    steps: int
    batch_size: int
    seeds: int
    seeds_at_first: int
    """The same as `seeds`, unless some were added to the run later."""
    margin_steps: float
    margin_final: float
    reference: str
    """What layer 1 is compared with: the task's stored answers, or a framework."""
    path_reference: str
    """The framework whose float64 losses layer 2 is compared with."""
    machine: str
    arms: list[ArmSummary]
    pairs: list[PairSummary]

    @property
    def ok(self) -> bool:
        """Whether every framework ran to the end and took the task's steps."""
        return not any(
            arm.ended or arm.exact_holds is False or (arm.path and arm.path.outside is not None)
            for arm in self.arms
        )


def analyse(record: Record, reference: Answers | None = None) -> LearningSummary:
    """`reference`: the task's stored answers, where there are any."""
    task = record.task
    exact, whose = known_answers(record, reference)
    right, path_of = known_path(record, exact)
    arms = []
    for arm in record.arms:
        answers = record.answers.get(arm.label)
        worst, at = worst_of(answers, exact)
        rounding = answers.rounding if answers else 0.0
        path = record.paths.get(arm.label)
        unit = PRECISIONS[arm.precision].unit if arm.precision in PRECISIONS else 0.0
        wide = envelope(record.paths, right, arm.label)
        runs = seeds_of(record, arm.label)
        arms.append(
            ArmSummary(
                label=arm.label, framework=arm.framework, version=arm.version,
                how=", ".join([
                    arm.precision, arm.compiler, arm.device, counted(arm.threads, "thread"),
                ]),
                exact=worst, exact_at=at, exact_holds=held(worst, rounding),
                rounding=rounding,
                path=follow(path.losses, right, wide, unit=unit) if path and wide else None,
                accuracy=Spread.of([run.evaluations[-1].accuracy for run in runs]),
                loss=Spread.of([final_of(run, rises=False) for run in runs]),
                steps_to_target=Spread.of([crossing(run, task) for run in runs]),
                seconds_per_step=Spread.of([per_step(run) for run in runs]),
                evaluation_seconds=Spread.of([sum(e.seconds for e in r.evaluations) for r in runs]),
                step_seconds=Spread.of([sum(run.step_seconds) for run in runs]),
                time_to_train=Spread.of([whole_time(run) for run in runs]),
                time_to_target=Spread.of([time_to(run, task) for run in runs]),
                ended=arm.ended, differences=arm.differences,
            )
        )  # fmt: skip
    base, *others = arms
    return LearningSummary(
        run=record.id, title=task["title"], task=task["name"], task_digest=record.task_digest,
        data_digest=record.data_digest, metric=task["target"]["metric"],
        target=task["target"]["value"], steps=task["lesson"]["steps"],
        batch_size=task["lesson"]["batch_size"], seeds=record.seeds,
        seeds_at_first=record.seeds_at_first or record.seeds,
        margin_steps=task["margin"]["steps"], margin_final=task["margin"]["final"],
        reference=whose, path_reference=path_of, machine=record.machine, arms=arms,
        pairs=[pair_of(record, base, other) for other in others],
    )  # fmt: skip


def seeds_of(record: Record, label: str) -> list[SeedRun]:
    return [run for _, run in sorted(record.runs.get(label, {}).items())]


def known_answers(record: Record, reference: Answers | None) -> tuple[Answers | None, str]:
    """The answers that layer 1 is compared with, and their origin: the first framework if none are
    stored.
    """
    if reference is not None:
        return reference, "the task's reference"
    for arm in record.arms:
        answers = record.answers.get(arm.label)
        if answers and not answers.lack:
            return answers, arm.label
    return None, ""


def known_path(record: Record, exact: Answers | None) -> tuple[Sequence[float | None], str]:
    """The float64 losses that layer 2 is compared with: those of the first framework that passes
    layer 1, or else of the first that has any.
    """
    having = [(a, arm.label) for arm in record.arms
              if (a := record.answers.get(arm.label)) and a.path]  # fmt: skip
    right = [one for one in having if exact and max(distances(one[0], exact).values()) <= EXACT]
    for answers, label in (*right, *having):
        return answers.path, label
    return [], ""


def worst_of(answers: Answers | None, exact: Answers | None) -> tuple[float | None, str]:
    if answers is None or exact is None or answers.lack:
        return None, answers.lack if answers else ""
    found = distances(answers, exact)
    at = max(found, key=lambda name: found[name])
    return min(found[at], FAR), at


def held(worst: float | None, rounding: float) -> bool | None:
    """Layer 1's verdict; None if it cannot tell."""
    if worst is None or EXACT < worst <= HIDDEN_TIMES * rounding:
        return None
    return worst <= EXACT


def final_of(run: SeedRun, *, rises: bool) -> float:
    last = run.evaluations[-1]
    return last.accuracy if rises else math.inf if last.loss is None else last.loss


def crossing(run: SeedRun, task: Mapping[str, Any]) -> float:
    """The step at which the mean of the last evaluations first reaches the target, interpolated
    between two evaluations; infinite if it never does.
    """
    target, average = task["target"], task["average"]
    rises, value = target["metric"] == ACCURACY, target["value"]
    before: tuple[float, float] | None = None
    levels: list[float] = []
    for seen in run.evaluations:
        levels.append(seen.accuracy if rises else math.inf if seen.loss is None else seen.loss)
        level = fmean(levels[-average:])
        reached = level >= value if rises else level <= value
        if reached:
            if before is None or not math.isfinite(before[1]) or level == before[1]:
                return float(seen.step)
            step, earlier = before
            return float(step + (seen.step - step) * (value - earlier) / (level - earlier))
        before = (seen.step, level)
    return math.inf


def per_step(run: SeedRun) -> float:
    return sum(run.step_seconds) / max(1, len(run.losses))


def whole_time(run: SeedRun) -> float:
    return sum(run.step_seconds) + sum(seen.seconds for seen in run.evaluations)


def time_to(run: SeedRun, task: Mapping[str, Any]) -> float:
    """Seconds of steps and evaluations until the target; infinite if it is missed."""
    step = crossing(run, task)
    if not math.isfinite(step):
        return math.inf
    total, done = 0.0, 0
    for seconds, seen in zip(run.step_seconds, run.evaluations, strict=True):
        if seen.step >= step:
            share = (step - done) / (seen.step - done)
            return total + seconds * share + seen.seconds
        total += seconds + seen.seconds
        done = seen.step
    return total


def pair_of(record: Record, base: ArmSummary, other: ArmSummary) -> PairSummary:
    """The verdict on two frameworks, from the seeds that both have."""
    task = record.task
    target, margin = task["target"], task["margin"]
    runs = [record.runs.get(arm.label, {}) for arm in (base, other)]
    shared = sorted(runs[0].keys() & runs[1].keys())
    pairs = [(runs[0][seed], runs[1][seed]) for seed in shared]
    steps = [[crossing(run, task) for run in pair] for pair in pairs]
    missed = [[not math.isfinite(step) for step in pair] for pair in steps]
    rises = target["metric"] == ACCURACY
    finals = [[final_of(run, rises=rises) for run in pair] for pair in pairs]
    whole = all(math.isfinite(x) for pair in finals for x in pair)
    final = equivalence([b - a for a, b in finals] if whole else [], margin["final"])
    logs = [[math.log(x) for x in pair] for pair in steps if all(map(math.isfinite, pair))]
    every = len(logs) == len(steps)
    of_steps = equivalence([b - a for a, b in logs], math.log1p(margin["steps"])) if every else None
    counts = [sum(pair[at] for pair in missed) for at in (0, 1)]
    apart = bool(pairs) and misses_differ([m[0] for m in missed], [m[1] for m in missed])
    verdict, reason = verdict_of(base, other, of_steps, final, counts, apart=apart, whole=whole)
    known = [one for one in (of_steps, final) if one and one.power is not None]
    figures = [(one.scatter, one.margin) for one in known]
    both = len(known) == 2
    speeds = [math.log(per_step(b) / per_step(a)) for a, b in pairs]
    times = [[time_to(run, task) for run in pair] for pair in pairs]
    return PairSummary(
        label=other.label, baseline=base.label, seeds=len(pairs), steps=of_steps, final=final,
        missed=counts[1], missed_baseline=counts[0],
        correlation=correlation([p[0] for p in logs], [p[1] for p in logs]) if every else None,
        verdict=verdict, reason=reason,
        power=math.prod(one.power or 0.0 for one in known) if both else None,
        needed=pairs_for_power(figures, len(pairs)) if both else None,
        steps_ratio=ratio([b - a for a, b in logs]) if every else None,
        speed_ratio=ratio(speeds),
        time_ratio=ratio([math.log(b / a) for a, b in times]) if every else None,
    )  # fmt: skip


def ratio(logs: Sequence[float]) -> Interval | None:
    if not logs:
        return None
    mean = fmean(logs)
    if len(logs) < 3:
        return Interval(value=math.exp(mean), low=None, high=None)
    from mbench.stats.intervals import quantile

    half = quantile(len(logs) - 1, 1 - DIFFERENT_ERROR) * stdev(logs) / math.sqrt(len(logs))
    return Interval(value=math.exp(mean), low=math.exp(mean - half), high=math.exp(mean + half))


def verdict_of(
    base: ArmSummary, other: ArmSummary, steps: Equivalence | None, final: Equivalence,
    missed: Sequence[int], *, apart: bool, whole: bool,
) -> tuple[str, str]:  # fmt: skip
    """The verdict and its reason. Alike takes both figures; different takes only one."""
    for arm in (base, other):
        if arm.exact_holds is False:
            return UNEQUAL, (
                f"{arm.label} does not take the task's steps: in float64 it is off by "
                f"{arm.exact:.1e} ({arm.exact_at})"
            )
        if arm.path is not None and arm.path.outside is not None:
            return UNEQUAL, (
                f"{arm.label} leaves the path at step {arm.path.outside + 1}: its loss is further "
                "off than rounding can explain"
            )
    if apart:
        said = f"{missed[1]} seeds of {other.label} missed the target, {missed[0]} of {base.label}"
        return DIFFERENT, said
    if steps is not None and steps.verdict == "different":
        more = "more" if steps.difference > 0 else "fewer"
        return DIFFERENT, f"{other.label} takes {more} steps to the target"
    if final.verdict == "different":
        return DIFFERENT, f"{other.label} ends at a different level than {base.label}"
    if not whole:
        return NOT_SHOWN, "losses are not finite"
    if any(missed):
        return NOT_SHOWN, f"{sum(missed)} of {2 * final.pairs} seeds missed the target"
    if final.low is None:
        return NOT_SHOWN, f"at least {FEWEST} seeds are needed, but this run has {final.pairs}"
    if steps is not None and steps.verdict == final.verdict == "alike":
        return ALIKE, ""
    which = "steps to the target" if steps is None or steps.verdict != "alike" else "final figures"
    return NOT_SHOWN, f"{which} scatter too much for so few seeds"
