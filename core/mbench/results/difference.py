"""How speed changed from one run to another, and whether a change can be shown at all."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mbench import stats
from mbench.contract.axes import AXES, alike, name
from mbench.contract.quantities import Count, Number
from mbench.errors import MbenchError
from mbench.results.encoding import plain_record
from mbench.results.gate import (
    DOUBTED,
    FAILED,
    IMPRECISE,
    INCOMPARABLE,
    INCONCLUSIVE,
    SLOWER,
    UNCHECKED,
    UNMEASURED,
    UNPROVEN,
    Gate,
    GatedCase,
    gate_of,
    judge,
)
from mbench.results.identity import MATCHED, MATCHED_BY_FRAMEWORK, CaseIdentity
from mbench.results.metrics import check_metric, chosen_metric

if TYPE_CHECKING:
    from mbench.contract.metric import Metric
    from mbench.results.case_summary import CaseSummary
    from mbench.results.encoding import Json
    from mbench.results.summary import Summary

__all__ = ["REPLICATES", "CaseDifference", "Change", "Difference", "Unmatched", "changes", "differ",
           "facts", "match", "variables_of", "version_changes"]  # fmt: skip

Facts = Mapping[str, object]
REPLICATES = ("processes", "runs")
Changes = dict[str, tuple[object, object]]

# Another machine is another experiment; a new kernel or driver is a change to be judged.
CONDITIONS = ("protocol", "cpu", "physical_cores", "usable_cores", "gpu")
SETTINGS = ("mbench", "os", "python", "driver", "governor", "transparent_huge_pages", "hostname",
            "variables")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that differs between the runs."""

    what: str
    """Its name."""
    base: str
    """Its value in the base."""
    new: str
    """Its value in the new run."""


@dataclass(frozen=True, kw_only=True)
class CaseDifference:
    """A case that both runs have."""

    case: str
    """The case, in words."""
    short: str
    """`case` without what all cases share."""
    base: float | None
    """Its figure in the base; null if it has none."""
    new: float | None
    """Its figure in the new run; null if it has none."""
    unit: str | None
    """Unit of both."""
    metric: str | None
    """The metric that is compared."""
    ratio: float | None = None
    """How many times as good it is now, see `comparisons[].ratio`; null if the two cannot be
    compared."""
    low: float | None = None
    """Lower end of its interval."""
    high: float | None = None
    """Upper end."""
    verdict: str = "not comparable"
    """What the interval shows: `faster`, `slower`, `alike`, ...; `not comparable`."""
    reason: str | None
    """Why there is no ratio, or why nothing could be judged."""
    gate: str | None
    """What the gate says about it: see `gate.cases[].outcome`; null if it was not measured in the
    base."""
    processes: Count | None = None
    """About how many processes each run would need to detect a slowdown that is not allowed; if
    `replicates` are runs, how many runs each side would need."""
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
    replicates: str
    """What intervals are computed over: `processes`, or `runs` if either side has several."""
    gate: Gate
    """What the gate says about all cases."""
    intervals: Number
    """Number of intervals that hold together."""
    changes: list[Change]
    """What changed about the machine and about mbench."""
    shared: str
    """What all cases of both runs share, in words."""
    cases: list[CaseDifference]
    """Cases that both runs have."""
    unmatched: list[Unmatched]
    """All other cases."""

    def to_json(self) -> dict[str, Json]:
        return plain_record(self)


def differ(
    base: Summary,
    new: Summary,
    *,
    fail_if_slower: float,
    allow_inconclusive: bool = False,
    allow_unchecked: bool = False,
    metric: str = "",
    by_run: bool = False,
) -> Difference:
    """Every case of two runs, and the gate; `fail_if_slower` is a share, 0.03 for 3 %.

    Cases are compared by the named metric. By default, that is the one that both runs were asked
    for when they were measured, or, if they do not agree, the first of each case's scenario. A case
    that was measured in the base fails the gate if it is missing, not measured, not proven or in
    doubt now. It also fails if nobody checked its work in either run, unless that is allowed.
    With `by_run`, each of the two stands for several runs: see `mbench.results.several`.

    Raises MbenchError if no case is in both runs, and UsageError if none has such a metric.
    """
    if not metric and base.protocol.metric == new.protocol.metric:
        metric = new.protocol.metric
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
    shared = alike([case.axes for _, case in pairs])
    found = [
        contrast(
            *one, conditions=conditions, allowance=fail_if_slower, comparisons=compared,
            shared=shared, allow_unchecked=allow_unchecked, replicates=REPLICATES[by_run],
        )
        for one in chosen
    ]  # fmt: skip
    judged = [one for _, one in found if one]
    judged += [
        GatedCase(case=heading(case), outcome=FAILED, why=UNMEASURED)
        for case in alone[0]
        if case.outcome == "ok"
    ]
    return Difference(
        base=base.run,
        new=new.run,
        replicates=REPLICATES[by_run],
        gate=gate_of(judged, fail_if_slower=fail_if_slower, allow_inconclusive=allow_inconclusive),
        intervals=compared,
        changes=listed(conditions | changes(old, now, SETTINGS)),
        shared=name(pairs[0][1].axes, less={axis.name for axis in AXES} - shared),
        cases=[case for case, _ in found],
        unmatched=[
            Unmatched(run=summary.run, case=heading(case))
            for summary, left in zip((base, new), alone, strict=True)
            for case in left
        ],
    )


def titles(summary: Summary) -> str:
    names = list(dict.fromkeys(map(heading, summary.cases))) or ["no case"]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more


def heading(case: CaseSummary, *, less: Collection[str] = ()) -> str:
    """The case in words, without the axes in `less`."""
    return ": ".join(filter(None, [case.label, name(case.axes, less=less)]))


def match(
    base: Sequence[CaseSummary], new: Sequence[CaseSummary]
) -> tuple[list[tuple[CaseSummary, CaseSummary]], tuple[list[CaseSummary], list[CaseSummary]]]:
    """The cases that both runs have, matched by label first and then by framework, in order; and
    what is left of each run.
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
    """How a run was measured, with its GPUs as one fact and their driver as another."""
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
    """All variables as NAME=VALUE, in one text."""
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
    """Changes of the framework's version and, if the environments are known, of every package's;
    for the same version, changed files.
    """
    found = changes({"version": base.version}, {"version": new.version}, ("version",))
    before, after = base.environment, new.environment
    if before and after and before.packages and after.packages:
        names = sorted({*before.packages, *after.packages})
        found |= changes(before.packages, after.packages, names)
        for name, version in before.packages.items():
            one, other = before.digests.get(name), after.digests.get(name)
            if name not in found and one and other and one != other:
                found[name] = (f"{version}, files {one}", f"{version}, files {other}")
    return found


def obstacle(
    base: CaseSummary, new: CaseSummary, metric: Metric | None, *, conditions: Changes
) -> str | None:
    """Why two cases cannot be compared; None where they can."""
    if base.outcome != "ok":
        return f"outcome {base.outcome} in the base run: {base.reason}"
    if new.outcome != "ok":
        return f"outcome {new.outcome} in the new run: {new.reason}"
    if conditions:
        said = ", ".join(f"{name} {text(a)} -> {text(b)}" for name, (a, b) in conditions.items())
        return f"other conditions: {said}"
    if base.flops_per_sample != new.flops_per_sample:
        return "the workload changed: FLOPs per sample differ"
    for case, which in ((base, "base"), (new, "new")):
        if case.equal_work and not case.equal_work.proven:
            return f"the {which} run's work is not proven equal"
        if case.distorted == 1:
            return f"every round was disturbed in the {which} run"
        if case.doubts and which == "base":
            return f"the base run's work is in doubt: {case.doubts[0]}"
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
    allowance: float,
    comparisons: int,
    shared: Collection[str],
    allow_unchecked: bool,
    replicates: str,
) -> tuple[CaseDifference, GatedCase | None]:
    """One case of both runs: its ratio with the interval, a verdict, and what changed. The gate
    does not judge a case that was not measured in the base.
    """
    before, now = (case.metrics.get(metric.name) if metric else None for case in (base, new))
    known = now or before
    found = CaseDifference(
        case=heading(new),
        short=heading(new, less=shared),
        base=before.value if before else None,
        new=now.value if now else None,
        unit=known.unit if known else None,
        metric=metric.name if metric else None,
        reason=obstacle(base, new, metric, conditions=conditions),
        gate=None,
        changes=listed(version_changes(base, new)),
    )
    if base.outcome != "ok":
        return found, None
    if new.outcome != "ok":
        return gated(found, FAILED, UNMEASURED)
    if new.equal_work and not new.equal_work.proven:
        return gated(found, FAILED, UNPROVEN)
    if new.doubts:
        reason = found.reason or f"its work is in doubt: {new.doubts[0]}"
        return gated(replace(found, reason=reason), FAILED, DOUBTED)
    if found.reason is not None or metric is None or before is None or now is None:
        return gated(found, INCONCLUSIVE, INCOMPARABLE)
    rates = [[metric.goodness(value) for value in figure.processes] for figure in (before, now)]
    interval = stats.contrast(*rates, comparisons=comparisons)
    found = replace(found, ratio=interval.value, low=interval.low, high=interval.high,
                    verdict=stats.verdict(interval))  # fmt: skip
    if not (allow_unchecked or (base.equal_work and new.equal_work)):
        return gated(replace(found, reason=unchecked(base, new)), FAILED, UNCHECKED)
    outcome = judge(interval.low, interval.high, allowance=allowance)
    if outcome != INCONCLUSIVE:
        return gated(found, outcome, SLOWER if outcome == FAILED else "")
    # The end of the interval that is nearer to the allowance would have to just reach it.
    away = abs(math.log(interval.value / (1 - allowance)))
    count = stats.processes_for(*rates, half_width=math.sinh(away), comparisons=comparisons)
    if count is not None:  # the run with more processes may hide that the other has too few
        count = max(count, 1 + min(map(len, rates)))
    why = "too noisy" if interval.low is not None else f"too few {replicates}"
    reason = f"{why} to detect a slowdown of {100 * allowance:.3g} %; {enough(count, replicates)}"
    return gated(replace(found, reason=reason, processes=count), outcome, IMPRECISE)


def gated(found: CaseDifference, outcome: str, why: str) -> tuple[CaseDifference, GatedCase]:
    """The case with the gate's outcome, and the same outcome for the gate's own list."""
    return replace(found, gate=outcome), GatedCase(case=found.case, outcome=outcome, why=why)


def unchecked(base: CaseSummary, new: CaseSummary) -> str:
    """In which run nobody checked the work, in words."""
    lacking = [which for case, which in ((base, "the base"), (new, "the new run"))
               if case.equal_work is None]  # fmt: skip
    return (
        f"equal work was not checked in {' and in '.join(lacking)}: "
        "measure without --no-verify, or give --allow-unchecked"
    )


def enough(count: int | None, replicates: str) -> str:
    """How many replicates would be enough, in words."""
    if count is None:
        return f"no practical number of {replicates} would be enough: make the machine quieter"
    if replicates == REPLICATES[1]:
        return f"about {count} runs on each side would be enough"
    return f"about {count} in each run would be enough: --processes {count}"
