"""A training run in sentences and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.console import counted, span
from mbench.learning.analyse import ALIKE, DIFFERENT, NOT_SHOWN
from mbench.learning.judge import EXACT
from mbench.learning.task import ACCURACY
from mbench.reports.grid import Grid

if TYPE_CHECKING:
    from mbench.learning.analyse import (
        ArmSummary,
        Interval,
        LearningSummary,
        PairSummary,
    )
    from mbench.learning.judge import Departure
    from mbench.stats.equivalence import Equivalence

__all__ = ["grids", "headline", "notes"]

EQUAL = {True: "equal", False: "not equal", None: "rounding decides"}


def headline(found: LearningSummary) -> list[str]:
    """The answer: a sentence for each framework other than the baseline."""
    if not found.pairs:
        arm = found.arms[0]
        return [f"{arm.label}: {outcome(arm, found)}"]
    return [sentence(pair, found) for pair in found.pairs]


def sentence(pair: PairSummary, found: LearningSummary) -> str:
    both = f"{pair.baseline} and {pair.label}"
    within = f"within {100 * found.margin_steps:g} %"
    if pair.verdict == ALIKE:
        said = f"{both} learn alike {within}{interval(pair.steps, found)}"
        return said + soon(pair)
    if pair.verdict == DIFFERENT:
        return f"{both} do not learn alike {within}: {pair.reason}{interval(pair.steps, found)}"
    if pair.verdict == NOT_SHOWN:
        takes = f"; {counted(pair.needed, 'seed')} would show it with a power of 80 %" if (
            pair.needed and pair.needed > pair.seeds
        ) else ""  # fmt: skip
        return f"Not shown whether {both} learn alike {within}: {pair.reason}{takes}"
    return f"{both} do not do the same training: {pair.reason}"


def interval(steps: Equivalence | None, found: LearningSummary) -> str:
    if steps is None or steps.low is None or steps.high is None:
        return ""
    low, high = (percent(x) for x in (steps.low, steps.high))
    return f" (steps to {target(found)}: {low} .. {high} at 90 %, {counted(steps.pairs, 'seed')})"


def percent(log: float) -> str:
    from math import expm1

    return f"{100 * expm1(log):+.1f} %"


def soon(pair: PairSummary) -> str:
    if pair.time_ratio is None or pair.speed_ratio is None or pair.steps_ratio is None:
        return ""
    return (
        f"; {pair.label} takes {times(pair.time_ratio)} the time to target: "
        f"{times(pair.steps_ratio)} the steps, {times(pair.speed_ratio)} the seconds per step"
    )


def times(found: Interval | None) -> str:
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.2f} times"
    return f"{found.value:.2f} times ({found.low:.2f} .. {found.high:.2f})"


def target(found: LearningSummary) -> str:
    shown = f"{100 * found.target:g} %" if found.metric == ACCURACY else f"{found.target:g}"
    return f"{found.metric} {shown}"


def outcome(arm: ArmSummary, found: LearningSummary) -> str:
    if arm.ended:
        return arm.ended
    known = arm.steps_to_target
    if not known.count:
        return "no seed has finished"
    if known.median is None:
        return f"{known.infinite} of {known.count} seeds missed {target(found)}"
    return (
        f"{target(found)} after a median of {known.median:.0f} steps over "
        f"{counted(known.count, 'seed')}"
        + (f", of which {known.infinite} missed it" if known.infinite else "")
    )


def grids(found: LearningSummary) -> list[Grid]:
    return [trained(found), soon_table(found), layers(found), verdicts(found)]


def trained(found: LearningSummary) -> Grid:
    """Like NVIDIA's tables of training accuracy and time."""
    metric = found.metric
    table = Grid(
        f"{metric} on held-out data after {found.steps} steps, batch {found.batch_size}",
        ("framework", "seeds", f"{metric} avg", "sd", "min", "max", "time to train", "speed-up"),
        numeric=frozenset((f"{metric} avg", "sd", "min", "max", "time to train", "speed-up")),
        spare=("min", "max"), all_in=None,
    )  # fmt: skip
    base = found.arms[0].time_to_train.mean
    for arm in found.arms:
        known = arm.accuracy if metric == ACCURACY else arm.loss
        mean = arm.time_to_train.mean
        table.rows.append([
            arm.label, str(known.count), level(known.mean, metric), level(known.deviation, metric),
            level(known.least, metric), level(known.most, metric), lasted(mean),
            f"{base / mean:.2f}" if base and mean else "-",
        ])  # fmt: skip
    return table


def soon_table(found: LearningSummary) -> Grid:
    table = Grid(
        f"how soon {target(found)} is reached; misses count as infinite",
        ("framework", "missed", "steps, median", "sd", "ms per step", "evaluations",
         "time, median"),
        numeric=frozenset(("missed", "steps, median", "sd", "ms per step", "evaluations",
                           "time, median")),
        spare=("sd",), all_in=None,
    )  # fmt: skip
    for arm in found.arms:
        steps, speed = arm.steps_to_target, arm.seconds_per_step.mean
        infinite = "infinite" if steps.count else "-"
        table.rows.append([
            arm.label, f"{steps.infinite} of {steps.count}",
            infinite if steps.median is None else f"{steps.median:.0f}",
            "-" if steps.deviation is None else f"{steps.deviation:.1f}",
            "-" if speed is None else f"{1000 * speed:.2f}", lasted(arm.evaluation_seconds.mean),
            infinite if arm.time_to_target.median is None else lasted(arm.time_to_target.median),
        ])  # fmt: skip
    return table


def layers(found: LearningSummary) -> Grid:
    table = Grid(
        "the same training",
        ("framework", "in float64", "first steps as timed", "how"),
        spare=("how",),
        all_in=None,
    )
    for arm in found.arms:
        exact = arm.exact_at if arm.exact is None else (
            f"{EQUAL[arm.exact_holds]}: {arm.exact:.1e} ({arm.exact_at})"
        )  # fmt: skip
        table.rows.append([arm.label, exact or "-", followed(arm.path), arm.how])
    return table


def followed(path: Departure | None) -> str:
    """How well the losses of the first steps stay within the envelope."""
    if path is None:
        return "-"
    if path.outside is not None:
        return f"outside from step {path.outside + 1}"
    end = "a nudged start's loss is not finite" if path.not_finite else ""
    if path.steps == 0:
        return end or "rounding hides them"
    said = f"{counted(path.steps, 'step')} within the envelope, {path.ratio:.2f} of it"
    return f"{said}; then {end}" if end else said


def verdicts(found: LearningSummary) -> Grid:
    final = f"final {found.metric}"
    table = Grid(
        f"margins: steps {100 * found.margin_steps:g} %, {final} "
        f"{level(found.margin_final, found.metric)}",
        ("against " + found.arms[0].label, "verdict", "steps", final, "power", "seeds for 80 %",
         "correlation"),
        spare=("correlation",), all_in=None,
    )  # fmt: skip
    for pair in found.pairs:
        table.rows.append([
            pair.label, pair.verdict, change(pair.steps, found, share=True),
            change(pair.final, found, share=False),
            "-" if pair.power is None else f"{100 * pair.power:.0f} %",
            str(pair.needed) if pair.needed else "-",
            "-" if pair.correlation is None else f"{pair.correlation:.2f}",
        ])  # fmt: skip
    return table


def change(one: Equivalence | None, found: LearningSummary, *, share: bool) -> str:
    if one is None or one.low is None or one.high is None:
        return "-"
    if share:
        return f"{percent(one.difference)} ({percent(one.low)} .. {percent(one.high)})"
    signed = [level(x, found.metric, sign="+") for x in (one.difference, one.low, one.high)]
    return f"{signed[0]} ({signed[1]} .. {signed[2]})"


def level(value: float | None, metric: str, *, sign: str = "") -> str:
    if value is None:
        return "-"
    return f"{100 * value:{sign}.2f} %" if metric == ACCURACY else f"{value:{sign}.4f}"


def lasted(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds:.2f} s" if seconds < 100 else span(seconds)


def notes(found: LearningSummary) -> list[str]:
    """How the run was made, and what a reader must know."""
    said = [
        f"task {found.task} ({found.task_digest}), data {found.data_digest}: {found.title}",
        f"in float64, the schedule is squeezed into 20 steps and compared with {found.reference}: "
        f"equal means all within {EXACT:g}" if found.reference else
        "no framework here has float64, so nothing shows that they train alike step by step",
        "time to train includes steps and evaluations, but not drawing data, starting, building or "
        "compiling; frameworks take turns, one computing at a time",
    ]  # fmt: skip
    if found.pairs:
        said.append(
            "learn alike: two one-sided tests at 5 %, on steps to target and on the final "
            f"{found.metric}, paired by seed; do not learn alike: a 97.5 % interval lies "
            "beyond a margin. Power is estimated from the seeds that were run"
        )
        if found.seeds > found.seeds_at_first:
            said.append(
                f"the run began with {counted(found.seeds_at_first, 'seed')}: a verdict that is "
                "asked for again with more seeds is wrong more often than one asked for only once"
            )
    hidden = [arm for arm in found.arms if arm.exact is not None and arm.exact_holds is None]
    if hidden:
        most = max(arm.rounding for arm in hidden)
        said.append(
            "rounding decides in float64: changing the start by one unit in the last place moves "
            f"the first steps of {', '.join(arm.label for arm in hidden)} by up to {most:.0e}, "
            "so nothing shows that they are the task's; a lower learning_rate in the task's file "
            "would"
        )
    said += [f"{arm.label}: {arm.ended}" for arm in found.arms if arm.ended]
    return said
