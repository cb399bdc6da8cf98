"""Attributes the difference of two steps to their parts.

Every figure is taken per set of processes first, as each set has all parts of both frameworks. So
the parts and the remainder add up to the whole difference within every set, and the intervals over
sets include how the parts vary together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from mbench import stats
from mbench.errors import MbenchError
from mbench.explain.plan import EMPTY, KINDS, Breakdown, phases, stage_of
from mbench.explain.summary import (
    CaseState,
    Difference,
    Explanation,
    Interval,
    MissingPart,
    Pair,
    Row,
)
from mbench.results.figures import timed
from mbench.results.proof import EQUAL
from mbench.results.run import load_run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mbench.results.records import CaseRecord, Run

__all__ = ["OUTSIDE", "UNATTRIBUTED", "breakdown_of", "explain", "load"]

Sets = Mapping[int, float]
"""Milliseconds by the number of the set."""
UNATTRIBUTED = "not attributed to any operator"
OUTSIDE = "outside all stages"


def load(folder: Path) -> Run:
    """Read a run with the events that only breakdowns have; raises MbenchError."""
    return load_run(folder, more=KINDS)


def breakdown_of(run: Run) -> Breakdown | None:
    """Which comparisons of the run are parts of a step; None in other runs."""
    return next((event for event in run.more if isinstance(event, Breakdown)), None)


def explain(run: Run) -> Explanation:
    """Compare each two frameworks of the run; raises MbenchError for other runs than breakdowns."""
    breakdown = breakdown_of(run)
    if breakdown is None or breakdown.whole not in run.comparisons:
        raise MbenchError(
            f"{run.id} has no breakdown of a step: mbench explain {run.id} measures one"
        )
    counts = {part.comparison: part.count for part in breakdown.parts}
    cases = run.cases_of(breakdown.whole)
    sides = [side_of(run, case, counts) for case in cases]
    return Explanation(
        schema=run.header.schema,
        run=run.id,
        status=run.status,
        comparison=run.comparisons[breakdown.whole].title,
        cases=[state_of(case) for case in cases],
        lengthened=list(longer(run.cases.values(), cases[0].axes.model)) if cases else [],
        missing=[
            MissingPart(label=c.planned.label, part=part_of(run, c, cases), reason=c.outcome.reason)
            for c in run.cases.values()
            if c.outcome is not None and c not in cases
        ],
        differences=[
            difference(*pair)
            for pair in combinations(sides, 2)
            if all(one.whole and one.empty for one in pair)
        ],
    )


def state_of(case: CaseRecord) -> CaseState:
    proof = case.equal_work
    return CaseState(
        label=case.planned.label,
        version=case.info.version if case.info else None,
        compiler=case.axes.compiler,
        proven=proof is not None and proof.proven and proof.grade in EQUAL,
        outcome=case.outcome.outcome if case.outcome else "ok",
        reason=case.outcome.reason if case.outcome else "",
    )


def part_of(run: Run, case: CaseRecord, whole: Sequence[CaseRecord]) -> str:
    """An operator's name; of a phase or a longer model the title of its comparison."""
    model = case.axes.model
    of_model = any(model == w or stage_of(model, w) for w in (one.axes.model for one in whole))
    return run.comparisons[case.planned.comparison].title if of_model else model


PHASES = ("forward", "backward")
"""The modes of steps that make less than the whole one."""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """The calls of an operator in a step."""

    count: int
    milliseconds: Sets
    """Of all of them together."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """What was measured of one framework."""

    label: str
    whole: Sets
    empty: Sets
    operators: Mapping[str, Operator]
    phases: Mapping[str, Sets]
    """What each phase adds to those before it; empty where not all were measured."""
    stages: Mapping[str, Sets]
    """What the model takes longer with each stage twice; empty where not all were measured."""


def side_of(run: Run, whole: CaseRecord, counts: Mapping[int, int]) -> Side:
    own = [case for case in run.cases.values() if case.planned.label == whole.planned.label]
    forms = longer(own, whole.axes.model)
    models = {whole.axes.model, *(case.axes.model for case in forms.values())}
    empty: Sets = {}
    operators: dict[str, Operator] = {}
    measured = {case.axes.model: case for case in own if case.axes.model not in models}
    if EMPTY in measured:
        empty = step_times(measured.pop(EMPTY))
    for name, case in measured.items():
        count = counts.get(case.planned.comparison)
        steps, calls = step_times(case), case.axes.batch_size
        if count is not None and steps:
            per_step = {
                at: count * (steps[at] - empty[at]) / calls for at in steps.keys() & empty.keys()
            }
            operators[name] = Operator(count=count, milliseconds=per_step)
    return Side(
        label=whole.planned.label, whole=step_times(whole), empty=empty, operators=operators,
        phases=phases_of(own, whole), stages=stages_of(forms, whole),
    )  # fmt: skip


def step_times(case: CaseRecord) -> Sets:
    """By the processes that were measured completely; empty for a case with another outcome."""
    if case.outcome is not None:
        return {}
    found = {}
    for number, process in case.processes.items():
        blocks = timed(process)
        if blocks and process.idle_look is not None:
            elapsed = sum(sum(block.nanoseconds) for block in blocks)
            found[number] = elapsed / sum(block.steps for block in blocks) / 1e6
    return found


def longer(cases: Iterable[CaseRecord], whole: str) -> dict[str, CaseRecord]:
    """The cases of the model `whole` with a stage twice, by that stage, in the order planned."""
    planned = sorted(cases, key=lambda case: case.planned.case)
    found = {stage_of(case.axes.model, whole): case for case in planned}
    return {stage: case for stage, case in found.items() if stage}


def stages_of(forms: Mapping[str, CaseRecord], whole: CaseRecord) -> dict[str, Sets]:
    steps = step_times(whole)
    found: dict[str, Sets] = {}
    for stage, case in forms.items():
        more = step_times(case)
        if not more:
            return {}
        found[stage] = {at: more[at] - steps[at] for at in more.keys() & steps.keys()}
    return found


def phases_of(own: Sequence[CaseRecord], whole: CaseRecord) -> dict[str, Sets]:
    least = next((case.axes for case in own if case.axes.mode in PHASES), None)
    if least is None:
        return {}
    found: dict[str, Sets] = {}
    before: Sets = dict.fromkeys(step_times(whole), 0.0)
    for name, phase in phases(replace(least, mode=whole.axes.mode), whole.axes).items():
        steps: Sets = next((step_times(case) for case in own if case.axes == phase), {})
        if not steps:
            return {}
        found[name] = {at: steps[at] - before[at] for at in steps.keys() & before.keys()}
        before = steps
    return found


@dataclass(frozen=True)
class Table:
    """Makes the rows of one table, of the sets that have all parts of both frameworks.

    Its intervals hold together: each of `count` is made for a higher confidence (Bonferroni).
    """

    sets: Sequence[int]
    count: int

    def row(self, name: str, base: Sets, other: Sets, *, times: int | None = None) -> Row:
        return Row(
            name=name,
            times=times,
            baseline_ms=self.mean(base),
            other_ms=self.mean(other),
            difference_ms=self.interval([other[at] - base[at] for at in self.sets]),
        )

    def mean(self, milliseconds: Sets) -> float:
        return sum(milliseconds[at] for at in self.sets) / len(self.sets)

    def interval(self, differences: Sequence[float]) -> Interval:
        confidence = 1 - (1 - stats.CONFIDENCE) / max(1, self.count)
        found = stats.mean_interval(differences, confidence=confidence)
        return Interval(found.value, found.low, found.high, found.leaves_out(0.0))


def difference(base: Side, other: Side) -> Pair:
    """What the step of `other` takes longer than that of `base`, and in which parts."""
    names = [name for name in base.operators if name in other.operators]
    along = list(base.phases) if base.phases.keys() == other.phases.keys() else []
    deep = list(base.stages) if base.stages.keys() == other.stages.keys() else []
    both = (base, other)
    every = [sets for one in both for sets in (one.whole, one.empty)]
    every += [one.operators[name].milliseconds for one in both for name in names]
    every += [one.phases[name] for one in both for name in along]
    every += [one.stages[name] for one in both for name in deep]
    common = sorted(set.intersection(*(set(sets) for sets in every)))
    if not common:
        return Pair(baseline=base.label, framework=other.label)
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(kind_of(name), []).append(name)
    by_phase = Table(common, len(along))
    by_stage = Table(common, len(deep) + 1)
    by_kind = Table(common, len(kinds) + 2)
    by_operator = Table(common, len(names) + 2)

    def of_operators(table: Table, title: str, chosen: Sequence[str]) -> Row:
        sums = [{at: operators_in(one, chosen, at) for at in common} for one in both]
        count = sum(base.operators[name].count for name in chosen)
        return table.row(title, *sums, times=count)

    def remainder(one: Side) -> Sets:
        return {at: one.whole[at] - one.empty[at] - operators_in(one, names, at) for at in common}

    def outside(one: Side) -> Sets:
        return {at: one.whole[at] - sum(one.stages[name][at] for name in deep) for at in common}

    return Difference(
        baseline=base.label,
        framework=other.label,
        sets=len(common),
        step=Table(common, 1).row("a whole step", base.whole, other.whole),
        empty=by_kind.row("an empty step", base.empty, other.empty),
        phases=[by_phase.row(name, base.phases[name], other.phases[name]) for name in along],
        stages=[by_stage.row(name, base.stages[name], other.stages[name]) for name in deep],
        rest=by_stage.row(OUTSIDE, outside(base), outside(other)) if deep else None,
        kinds=[of_operators(by_kind, kind, chosen) for kind, chosen in kinds.items()],
        operators=[of_operators(by_operator, name, [name]) for name in names],
        residual=by_kind.row(UNATTRIBUTED, remainder(base), remainder(other)),
        only_in_one=sorted(set(base.operators) ^ set(other.operators)),
    )


def operators_in(one: Side, chosen: Sequence[str], at: int) -> float:
    return sum(one.operators[name].milliseconds[at] for name in chosen)


def kind_of(operator: str) -> str:
    return operator.partition(":")[2].partition("/")[0]
