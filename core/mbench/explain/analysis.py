"""Attributes the difference between two steps to their parts.

Every figure is first computed per set of processes, because a set has all parts of a level for both
frameworks. So the parts and the remainder add up to the whole difference within every set, and the
intervals over sets include how the parts vary together. Only a resumed run has measured operators
in several groups of sets; the groups are independent.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from mbench import stats
from mbench.errors import MbenchError
from mbench.explain.attribution import attributed
from mbench.explain.plan import EMPTY, KINDS, Breakdown, form_in
from mbench.explain.sides import longer, side_of, step_times
from mbench.explain.stages import by_stage, kind_of, within_stages
from mbench.explain.summary import CaseState, Difference, Explanation, MissingPart, Pair
from mbench.explain.sums import Table, common, overlaps_of, shared, waiting, whole_step
from mbench.results.proof import EQUAL
from mbench.results.run import load_run
from mbench.workloads.operators.operator import PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mbench.explain.sides import Side
    from mbench.explain.summary import Row
    from mbench.explain.sums import Both, Groups
    from mbench.results.records import CaseRecord, Run

__all__ = ["UNATTRIBUTED", "breakdown_of", "explain", "load"]

UNATTRIBUTED = "the rest (in no measured operator)"
OPERATORS = "operators"


def load(folder: Path) -> Run:
    """Read a run, including the events that only breakdowns have; raises MbenchError."""
    return load_run(folder, more=KINDS)


def breakdown_of(run: Run) -> Breakdown | None:
    """Which comparisons of the run are parts of a step; None if the run is not a breakdown."""
    return next((event for event in run.more if isinstance(event, Breakdown)), None)


def explain(run: Run) -> Explanation:
    """Compare each pair of frameworks in the run; raises MbenchError unless it is a breakdown."""
    breakdown = breakdown_of(run)
    if breakdown is None or breakdown.whole not in run.comparisons:
        raise MbenchError(
            f"{run.id} has no breakdown of a step: mbench explain {run.id} measures one"
        )
    parts = {part.comparison: part for part in breakdown.parts}
    cases = run.cases_of(breakdown.whole)
    sides = [side_of(run, case, parts) for case in cases]
    return Explanation(
        schema=run.header.schema,
        run=run.id,
        status=run.status,
        comparison=run.comparisons[breakdown.whole].title,
        cases=[state_of(case) for case in cases],
        lengthened=list(longer(run.cases.values(), cases[0].axes.model)) if cases else [],
        left_out=left_out(run, breakdown),
        missing=[
            MissingPart(label=c.planned.label, part=part_of(run, c, cases), reason=c.outcome.reason)
            for c in run.cases.values()
            if c.outcome is not None and c not in cases
        ],
        differences=[
            difference(*pair) for pair in combinations(sides, 2) if all(one.whole for one in pair)
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
    """An operator's name; for a phase or a longer model, the title of its comparison."""
    model = case.axes.model
    of_model = any(model == w or form_in(model, w) for w in (one.axes.model for one in whole))
    return run.comparisons[case.planned.comparison].title if of_model else model


def left_out(run: Run, breakdown: Breakdown) -> list[str]:
    """The operators that no framework has measured in enough sets for an interval."""
    found = []
    for part in breakdown.parts:
        cases = run.cases_of(part.comparison)
        known = any(case.outcome or len(step_times(case)) >= stats.FEWEST for case in cases)
        if part.model.startswith(PREFIX) and part.model != EMPTY and not known:
            found.append(part.model)
    return found


def difference(base: Side, other: Side) -> Pair:
    """How much longer the step of `other` takes than that of `base`, and in which parts."""
    both = (base, other)
    sets = common(one.whole for one in both)
    if len(sets) < stats.FEWEST:
        return Pair(baseline=base.label, framework=other.label, sets=len(sets))
    found = Difference(
        baseline=base.label,
        framework=other.label,
        sets=len(sets),
        step=whole_step([sets], both),
        input=waiting([common(one.waits for one in both)], both, count=1),
        only_in_one=sorted(set(base.operators) ^ set(other.operators)),
    )
    found = by_operator(by_stage(by_phase(found, both), both), both)
    return attributed(within_stages(found, both), both)


def by_phase(found: Difference, both: Both) -> Difference:
    base, other = both
    names = list(base.phases) if base.phases.keys() == other.phases.keys() else []
    sets = common([one.phases[name] for one in both for name in names] or [{}])
    if len(sets) < stats.FEWEST:
        return found
    table = Table(len(names))
    rows = [table.row(name, *([[one.phases[name][at] for at in sets]] for one in both))
            for name in names]  # fmt: skip
    return replace(found, phases=rows, phase_step=whole_step([sets], both))


def by_operator(found: Difference, both: Both) -> Difference:
    base, _ = both
    known = operator_groups(both)
    if not known:
        return found
    groups, named = [sets for sets, _ in known], [names for _, names in known]
    every = [name for names in named for name in names]
    kinds: dict[str, list[str]] = {}
    for name in base.operators:
        if name in every:
            kinds.setdefault(kind_of(name), []).append(name)

    def taken(one: Side, chosen: Sequence[str]) -> Groups:
        """Milliseconds in all groups that measured any of the `chosen` operators."""
        return [
            [sum(one.operators[name].milliseconds[at] for name in own) for at in sets]
            for sets, names in known
            if (own := [name for name in names if name in chosen])
        ]

    def of_operators(table: Table, title: str, chosen: Sequence[str]) -> Row:
        count = sum(base.operators[name].count for name in chosen)
        return table.row(title, *(taken(one, chosen) for one in both), times=count)

    def remainder(one: Side) -> Groups:
        steps = zip(*(shared(groups, part) for part in (one.whole, one.empty, one.waits)),
                    strict=True)  # fmt: skip
        return [
            [whole - sum(parts) for whole, *parts in zip(*of, spents, strict=True)]
            for of, spents in zip(steps, taken(one, every), strict=True)
        ]

    overlaps = overlaps_of(OPERATORS, both, list(map(remainder, both)))
    waits = waiting(groups, both, count=len(kinds) + 3)
    beside = 3 if waits else 2
    by_kind = Table(len(kinds) + beside)
    each = Table(len(every) + beside)
    return replace(
        found,
        kinds=[of_operators(by_kind, kind, chosen) for kind, chosen in kinds.items()],
        operators=[of_operators(each, name, [name]) for name in base.operators if name in every],
        empty=by_kind.row("an empty step", *(shared(groups, one.empty) for one in both)),
        operator_input=waits,
        residual=None if overlaps else by_kind.row(UNATTRIBUTED, *map(remainder, both)),
        operator_step=whole_step(groups, both),
        overlaps=[*found.overlaps, *overlaps],
    )


def operator_groups(both: Both) -> list[tuple[list[int], list[str]]]:
    """Groups of sets of processes, each with the operators that both frameworks measured in them.

    An operator that is missing in too many sets is left out.
    """
    base, other = both
    steps = [sets for one in both for sets in (one.whole, one.empty, one.waits)]
    alike: dict[frozenset[int], list[str]] = {}
    for name in base.operators:
        if name in other.operators:
            sets = common([*steps, *(one.operators[name].milliseconds for one in both)])
            alike.setdefault(frozenset(sets), []).append(name)
    found: list[tuple[list[int], list[str]]] = []
    for own, names in sorted(alike.items(), key=lambda item: -len(item[1])):
        if len(own) < stats.FEWEST:
            continue
        at = next((at for at, (known, _) in enumerate(found) if own & set(known)), None)
        if at is None:
            found.append((sorted(own), names))
        elif len(both_have := own & set(found[at][0])) >= stats.FEWEST:
            found[at] = (sorted(both_have), [*found[at][1], *names])
    return found
