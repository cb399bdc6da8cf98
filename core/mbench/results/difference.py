"""What changed in speed from one run to another, and whether it can be said at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench import stats
from mbench.contract.axes import name
from mbench.contract.quantities import Count, Number, Share
from mbench.errors import MbenchError
from mbench.results.encoding import plain_record
from mbench.results.identity import MATCHED, MATCHED_BY_FRAMEWORK, CaseIdentity
from mbench.results.metrics import check_metric, chosen_metric

if TYPE_CHECKING:
    from mbench.contract.metric import Metric
    from mbench.results.case_summary import CaseSummary
    from mbench.results.encoding import Json
    from mbench.results.summary import Summary

__all__ = ["CaseDifference", "Change", "Difference", "Unmatched", "differ", "variables_of"]

Facts = Mapping[str, object]
Changes = dict[str, tuple[object, object]]

# Another machine is another experiment; a new kernel or driver is a change to be judged.
CONDITIONS = ("protocol", "cpu", "physical_cores", "usable_cores", "gpu")
NARROWEST = 0.01
"""Half-width that is asked of an interval where the threshold is smaller."""
SETTINGS = ("mbench", "os", "python", "driver", "governor", "transparent_huge_pages", "hostname",
            "variables")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that is not the same in both runs."""

    what: str
    """Its name."""
    base: str
    """Its value in the base."""
    new: str
    """Its value now."""


@dataclass(frozen=True, kw_only=True)
class CaseDifference:
    """A case of both runs."""

    case: str
    """The case, in words."""
    base: float | None
    """Its figure in the base; null where it has none."""
    new: float | None
    """Its figure now."""
    unit: str | None
    """Unit of both."""
    metric: str | None
    """The metric that is compared."""
    ratio: float | None = None
    """How many times as good it is now, see `comparisons[].ratio`; null where they cannot be
    compared."""
    low: float | None = None
    """Lower end of its interval."""
    high: float | None = None
    """Upper end."""
    verdict: str = "not comparable"
    """What the interval shows: `faster`, `slower`, `alike`, ...; `not comparable`."""
    reason: str | None
    """Why there is no ratio, or why nothing could be judged."""
    regression: bool
    """It is shown to be slower by more than the threshold, or was measured before and now falls
    short."""
    judged: bool
    """A change of the threshold would have been seen."""
    processes: Count | None = None
    """About how many processes in each run would show one."""
    changes: list[Change]
    """Versions that changed."""


@dataclass(frozen=True, kw_only=True)
class Unmatched:
    """A case that only one of the runs has."""

    run: str
    """The run."""
    case: str
    """The case, in words."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """All cases of two runs."""

    schema: int = 1
    base: str
    """The older run."""
    new: str
    """The newer run."""
    threshold: Share
    """A regression is slower by more than this."""
    intervals: Number
    """Intervals that hold together."""
    changes: list[Change]
    """What changed of the machine and of mbench."""
    cases: list[CaseDifference]
    """Cases of both runs."""
    unmatched: list[Unmatched]
    """All others."""
    regressions: Number
    """Number of regressions."""
    undetermined: Number
    """Number of cases in which a change of the threshold could not be seen."""

    def to_json(self) -> dict[str, Json]:
        return plain_record(self)


def differ(base: Summary, new: Summary, *, threshold: float, metric: str = "") -> Difference:
    """Every case of two runs; `threshold` as a share, 0.03 for 3 %.

    A regression is a case that is shown to be worse by more than the threshold, or that was
    measured before and now falls short. Cases are compared by the metric of that name, or without
    one by the first of their scenario. Raises MbenchError where no case is in both runs, and
    UsageError where none has such a metric.
    """
    check_metric(metric, [case.axes for summary in (base, new) for case in summary.cases])
    pairs, alone = match(base.cases, new.cases)
    if not pairs:
        raise MbenchError(
            f"{base.run} and {new.run} have no case in common: {titles(base)} against {titles(new)}"
        )
    old, now = facts(base), facts(new)
    conditions = changes(old, now, CONDITIONS)
    chosen = [(*pair, chosen_metric(pair[1].axes, metric)) for pair in pairs]
    compared = sum(obstacle(*one, conditions=conditions) is None for one in chosen)
    cases = [
        contrast(*one, conditions=conditions, threshold=threshold, comparisons=compared)
        for one in chosen
    ]
    return Difference(
        base=base.run,
        new=new.run,
        threshold=threshold,
        intervals=compared,
        changes=listed(conditions | changes(old, now, SETTINGS)),
        cases=cases,
        unmatched=[
            Unmatched(run=summary.run, case=heading(case))
            for summary, left in zip((base, new), alone, strict=True)
            for case in left
        ],
        regressions=sum(case.regression for case in cases),
        undetermined=sum(case.ratio is not None and not case.judged for case in cases),
    )


def titles(summary: Summary) -> str:
    names = list(dict.fromkeys(map(heading, summary.cases))) or ["no case"]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more


def heading(case: CaseSummary) -> str:
    return f"{case.label}: {name(case.axes)}"


def match(
    base: Sequence[CaseSummary], new: Sequence[CaseSummary]
) -> tuple[list[tuple[CaseSummary, CaseSummary]], tuple[list[CaseSummary], list[CaseSummary]]]:
    """The same cases of both runs, by label first and then by framework, in order; and what is
    left of each run.
    """
    pairs = []
    left, others = list(base), list(new)
    for fields in (MATCHED, MATCHED_BY_FRAMEWORK):
        known: dict[str, list[CaseSummary]] = {}
        for other in others:
            known.setdefault(key(other, fields), []).append(other)
        unpaired = []
        for case in left:
            if same := known.get(key(case, fields)):
                pairs.append((case, same.pop(0)))
            else:
                unpaired.append(case)
        left, others = unpaired, [one for same in known.values() for one in same]
    order = {id(case): at for at, case in enumerate(new)}
    return pairs, (left, sorted(others, key=lambda case: order[id(case)]))


def key(case: CaseSummary, fields: Sequence[str]) -> str:
    return CaseIdentity(axes=case.axes, framework=case.framework, label=case.label).key(fields)


def facts(summary: Summary) -> Facts:
    """How a run was measured, its GPUs as one fact and their driver as another."""
    system = summary.system
    drivers = dict.fromkeys(str(gpu.get("driver_version")) for gpu in system.gpus)
    return {
        **plain_record(system),
        "mbench": summary.mbench,
        "protocol": summary.protocol.name,
        "gpu": ", ".join(str(gpu.get("name")) for gpu in system.gpus),
        "variables": variables_of(system.variables),
        "driver": ", ".join(drivers),
    }


def variables_of(variables: Mapping[str, str]) -> str:
    """NAME=VALUE of each, in one text."""
    return ", ".join(f"{name}={value}" for name, value in variables.items())


def changes(base: Facts, new: Facts, names: Sequence[str]) -> Changes:
    return {
        name: (base.get(name), new.get(name)) for name in names if base.get(name) != new.get(name)
    }


def listed(changed: Changes) -> list[Change]:
    return [
        Change(what=name, base=text(before), new=text(after))
        for name, (before, after) in changed.items()
    ]


def text(value: object) -> str:
    return "none" if value is None or value == "" else str(value)


def version_changes(base: CaseSummary, new: CaseSummary) -> Changes:
    """The framework's version and, where the environments are known, every package's."""
    found = changes({"version": base.version}, {"version": new.version}, ("version",))
    before, after = (case.environment.packages if case.environment else {} for case in (base, new))
    if before and after:
        found |= changes(before, after, sorted({*before, *after}))
    return found


def obstacle(
    base: CaseSummary, new: CaseSummary, metric: Metric | None, *, conditions: Changes
) -> str | None:
    """Why two cases cannot be compared; None where they can."""
    if base.outcome != "ok":
        return f"it was {base.outcome} in the base: {base.reason}"
    if new.outcome != "ok":
        return f"it is {new.outcome} now: {new.reason}"
    if conditions:
        said = ", ".join(f"{name} {text(a)} -> {text(b)}" for name, (a, b) in conditions.items())
        return f"other conditions: {said}"
    if base.flops_per_sample != new.flops_per_sample:
        return "the workload changed: other FLOPs per sample"
    for case, which in ((base, "base"), (new, "new")):
        if case.equal_work and not case.equal_work.proven:
            return f"the {which} run's work is not proven equal"
    if metric is None:
        return f"{new.axes.mode} has no such metric"
    for case, when in ((base, "had"), (new, "has")):
        if metric.name not in case.metrics:
            return f"it {when} no {metric.title}: {case.metrics_lacking.get(metric.name, '')}"
    return None


def contrast(
    base: CaseSummary,
    new: CaseSummary,
    metric: Metric | None,
    *,
    conditions: Changes,
    threshold: float,
    comparisons: int,
) -> CaseDifference:
    """One case of both runs: its ratio with the interval, a verdict, and what changed."""
    before, now = (case.metrics.get(metric.name) if metric else None for case in (base, new))
    known = now or before
    lost = base.outcome == "ok" != new.outcome
    found = CaseDifference(
        case=heading(new),
        base=before.value if before else None,
        new=now.value if now else None,
        unit=known.unit if known else None,
        metric=metric.name if metric else None,
        reason=obstacle(base, new, metric, conditions=conditions),
        regression=lost,
        judged=lost,
        changes=listed(version_changes(base, new)),
    )
    if found.reason is not None or metric is None or before is None or now is None:
        return found
    rates = [[metric.goodness(value) for value in figure.processes] for figure in (before, now)]
    interval = stats.contrast(*rates, comparisons=comparisons)
    verdict = stats.verdict(interval)
    goal = max(threshold, NARROWEST)
    wide = interval.half_width is None or interval.half_width > goal
    judged, count, reason = verdict in ("faster", "slower") or not wide, None, None
    if not judged:
        count = stats.processes_for(*rates, half_width=goal, comparisons=comparisons)
        if count is not None:  # the run with more processes may hide that the other has too few
            count = max(count, 1 + min(map(len, rates)))
        why = "too few processes" if interval.half_width is None else "too noisy"
        reason = f"{why} to show a change of the threshold; {enough(count)}"
    return replace(
        found,
        ratio=interval.value,
        low=interval.low,
        high=interval.high,
        verdict=verdict,
        reason=reason,
        judged=judged,
        processes=count,
        regression=verdict == "slower" and interval.value < 1 - threshold,
    )


def enough(processes: int | None) -> str:
    """How many processes would show a change of the threshold, in words."""
    if processes is None:
        return "more processes than is practical would; quieten the machine"
    return f"about {processes} in each run would: --processes {processes}"
