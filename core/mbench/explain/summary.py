"""What a run that took a step apart shows: in which of its parts the difference of two is found.

Every figure is of a set of processes first: each set has all parts of both frameworks. So the parts
and what they leave add up to the difference in every set, and their intervals hold what scatters
with them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.errors import MbenchError
from mbench.explain.plan import EMPTY, stage_of, stages
from mbench.results.figures import timed
from mbench.results.proof import EQUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mbench.results.records import CaseRecord, Run

__all__ = ["explain"]

Document = dict[str, Any]
Sets = dict[int, float]
"""Milliseconds by the number of the set."""


@dataclass(frozen=True)
class Side:
    """A framework's whole step, its empty step and its operators, where they were measured."""

    label: str
    whole: Sets
    empty: Sets
    parts: Mapping[str, Sets]
    """By the operator's name, all the times that it stands in the model."""
    phases: Mapping[str, Sets]
    """By what a step has more than the one before it, which ends in the whole one; none where not
    all of them were measured."""
    stages: Mapping[str, Sets]
    """By stage, what the model takes longer with that stage twice as long; none where not all of
    them were measured."""


@dataclass(frozen=True)
class Level:
    """By which all intervals of a table hold together."""

    count: int

    def interval(self, sets: Iterable[float]) -> Document:
        values = list(sets)
        found = stats.mean_interval(values, confidence=1 - (1 - stats.CONFIDENCE) / self.count)
        shown = found.leaves_out(0.0)
        return {"value": found.value, "low": found.low, "high": found.high, "shown": shown}


def explain(run: Run) -> Document:
    """Each two frameworks of the run; raises MbenchError for a run that took nothing apart."""
    whole = [number for number, one in run.comparisons.items() if one.times is None]
    if not run.header.protocol.together or len(whole) != 1:
        raise MbenchError(f"{run.id} took no step apart: mbench explain RUN measures what it lacks")
    cases = run.cases_of(whole[0])
    sides = [side(run, case) for case in cases]
    return {
        "schema": run.header.schema,
        "run": run.id,
        "status": run.status,
        "comparison": run.comparisons[whole[0]].title,
        "cases": [told(case) for case in cases],
        "lengthened": list(longer(run.cases.values(), cases[0].axes.model)) if cases else [],
        "missing": [
            {"label": c.planned.label, "part": part_of(run, c), "reason": c.outcome.reason}
            for c in run.cases.values()
            if c.outcome is not None and c not in cases
        ],
        "differences": [
            difference(run, *pair)
            for pair in combinations(sides, 2)
            if all(one.whole and one.empty for one in pair)
        ],
    }


def told(case: CaseRecord) -> Document:
    proof = case.equal_work
    return {
        "label": case.planned.label,
        "version": case.info.version if case.info else None,
        "compiler": case.axes.compiler,
        "proven": proof is not None and proof.proven and proof.grade in EQUAL,
        "outcome": case.outcome.outcome if case.outcome else "ok",
        "reason": case.outcome.reason if case.outcome else "",
    }


def side(run: Run, whole: CaseRecord) -> Side:
    empty: Sets = {}
    parts: dict[str, Sets] = {}
    every = [case for case in run.cases.values() if case.planned.label == whole.planned.label]
    forms = longer(every, whole.axes.model)
    models = {whole.axes.model, *(case.axes.model for case in forms.values())}
    own = [case for case in every if case.axes.model not in models]
    measured = {case.axes.model: step_times(case) for case in own}
    if EMPTY in measured:
        empty = measured.pop(EMPTY)
    for case in own:
        times = times_in(run, case)
        steps = measured.get(case.axes.model)
        if times is None or not steps:
            continue
        calls = case.axes.batch_size
        parts[case.axes.model] = {
            at: times * (steps[at] - empty[at]) / calls for at in steps.keys() & empty.keys()
        }
    return Side(
        whole.planned.label, step_times(whole), empty, parts, phases(every, whole),
        stages_of(forms, whole),
    )  # fmt: skip


def longer(cases: Iterable[CaseRecord], whole: str) -> dict[str, CaseRecord]:
    """Those of a form of the model `whole` with a longer stage, by that, in the order planned."""
    planned = sorted(cases, key=lambda case: case.planned.case)
    found = {stage_of(case.axes.model, whole): case for case in planned}
    return {stage: case for stage, case in found.items() if stage}


def stages_of(forms: Mapping[str, CaseRecord], whole: CaseRecord) -> dict[str, Sets]:
    """What the blocks of each stage take: by so much the longer form is slower."""
    steps, found = step_times(whole), {}
    for stage, case in forms.items():
        more = step_times(case)
        if not more:
            return {}
        found[stage] = {at: more[at] - steps[at] for at in more.keys() & steps.keys()}
    return found


def phases(own: Sequence[CaseRecord], whole: CaseRecord) -> dict[str, Sets]:
    """What each stage of a step adds to the one before; see `stages`. Their sum is the step."""
    least = next((case.axes for case in own if case.axes.phase), None)
    if least is None:
        return {}
    found, before = {}, dict.fromkeys(step_times(whole), 0.0)
    for name, stage in stages(replace(least, phase=""), whole.axes).items():
        steps = next((step_times(case) for case in own if case.axes == stage), {})
        if not steps:
            return {}
        found[name] = {at: steps[at] - before[at] for at in steps.keys() & before.keys()}
        before = steps
    return found


def part_of(run: Run, case: CaseRecord) -> str:
    """An operator's name; of a phase or a longer form that of its comparison."""
    title = run.comparisons[case.planned.comparison].title
    model = case.axes.model
    whole = [one.axes.model for one in run.cases.values() if times_in(run, one) is None]
    return title if any(model == one or stage_of(model, one) for one in whole) else model


def times_in(run: Run, case: CaseRecord) -> int | None:
    return run.comparisons[case.planned.comparison].times


def step_times(case: CaseRecord) -> Sets:
    """Of the processes that were measured to their end; none of a case that fell short."""
    if case.outcome is not None:
        return {}
    found = {}
    for number, process in case.processes.items():
        blocks = timed(process)
        if blocks and process.idle_look is not None:
            elapsed = sum(sum(block.nanoseconds) for block in blocks)
            found[number] = elapsed / sum(block.steps for block in blocks) / 1e6
    return found


def difference(run: Run, base: Side, other: Side) -> Document:
    """Of two steps, in milliseconds: what the other takes longer than the baseline."""
    names = [name for name in base.parts if name in other.parts]
    every = [one.whole for one in (base, other)] + [one.empty for one in (base, other)]
    every += [one.parts[name] for one in (base, other) for name in names]
    shared = list(base.phases) if base.phases.keys() == other.phases.keys() else []
    every += [one.phases[name] for one in (base, other) for name in shared]
    deep = list(base.stages) if base.stages.keys() == other.stages.keys() else []
    every += [one.stages[name] for one in (base, other) for name in deep]
    common = sorted(set.intersection(*(set(sets) for sets in every)))
    level = Level(count=max(1, len(names) + 2))
    of_phases = Level(count=max(1, len(shared)))
    of_stages = Level(count=len(deep) + 1)
    kinds = list(dict.fromkeys(kind_of(name) for name in names))
    of_kinds = Level(count=max(1, len(kinds) + 2))

    def total(one: Side, at: int, chosen: Sequence[str]) -> float:
        return sum(one.parts[name][at] for name in chosen)

    def gap(chosen: Sequence[str]) -> Callable[[int], float]:
        return lambda at: total(other, at, chosen) - total(base, at, chosen)

    def row(chosen: Sequence[str], level: Level) -> Document:
        found = gap(chosen)
        return {
            "times": sum(times_of(run, name) for name in chosen),
            "baseline_ms": mean(total(base, at, chosen) for at in common),
            "other_ms": mean(total(other, at, chosen) for at in common),
            "difference_ms": level.interval(found(at) for at in common),
        }

    def left(at: int) -> float:
        step = other.empty[at] - base.empty[at]
        return other.whole[at] - base.whole[at] - step - gap(names)(at)

    if not common:
        return {"baseline": base.label, "framework": other.label, "sets": 0}
    by_name = {name: row([name], level) for name in names}
    by_kind = {
        kind: row([name for name in names if kind_of(name) == kind], of_kinds) for kind in kinds
    }
    return {
        "baseline": base.label,
        "framework": other.label,
        "sets": len(common),
        "baseline_ms": mean(base.whole[at] for at in common),
        "other_ms": mean(other.whole[at] for at in common),
        "difference_ms": Level(1).interval(other.whole[at] - base.whole[at] for at in common),
        "empty": compared(base.empty, other.empty, common, of_kinds),
        "phases": [
            {"phase": name, **compared(base.phases[name], other.phases[name], common, of_phases)}
            for name in shared
        ],
        "stages": [
            {"stage": name, **compared(base.stages[name], other.stages[name], common, of_stages)}
            for name in deep
        ],
        "rest": rest(base, other, deep, common, of_stages),
        "kinds": [{"kind": kind, **found} for kind, found in by_kind.items()],
        "operators": [{"operator": name, **found} for name, found in by_name.items()],
        "residual": {
            "baseline_ms": mean(alone(base, at, names) for at in common),
            "other_ms": mean(alone(other, at, names) for at in common),
            "difference_ms": of_kinds.interval(left(at) for at in common),
        },
        "only_in_one": sorted(set(base.parts) ^ set(other.parts)),
    }


def compared(base: Sets, other: Sets, common: Sequence[int], level: Level) -> Document:
    return {
        "baseline_ms": mean(base[at] for at in common),
        "other_ms": mean(other[at] for at in common),
        "difference_ms": level.interval(other[at] - base[at] for at in common),
    }


def rest(
    base: Side, other: Side, stages: Sequence[str], common: Sequence[int], level: Level
) -> Document | None:
    """What of the steps is in no block of a stage; None where there are no stages."""

    def outside(one: Side) -> Sets:
        return {at: one.whole[at] - sum(one.stages[name][at] for name in stages) for at in common}

    return compared(outside(base), outside(other), common, level) if stages else None


def alone(one: Side, at: int, names: Sequence[str]) -> float:
    """What of a step no operator shows by itself; below 0 where operators are faster together."""
    return one.whole[at] - one.empty[at] - sum(one.parts[name][at] for name in names)


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def kind_of(name: str) -> str:
    return name.partition(":")[2].partition("/")[0]


def times_of(run: Run, name: str) -> int:
    comparisons = {
        case.planned.comparison for case in run.cases.values() if case.axes.model == name
    }
    return max(run.comparisons[number].times or 0 for number in comparisons)
