"""Breaks a step down by stages, and those stages that differ by operators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from mbench import stats
from mbench.explain.summary import NotAdditive, StageParts
from mbench.explain.sums import (
    Table,
    Term,
    combined,
    common,
    negligible,
    overlaps_of,
    waiting,
    whole_step,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.explain.sides import Side
    from mbench.explain.summary import Difference, Row
    from mbench.explain.sums import Both, Groups

__all__ = ["IN_NONE", "OUTSIDE", "STAGES", "by_stage", "kind_of", "measured", "within_stages"]

OUTSIDE = "the rest (in no stage)"
IN_NONE = "in no operator"
STAGES = "stages"
TOLERATED = 0.2
"""A share of a stage's time. Adding only some of its blocks may suggest this much more or less,
however precise the measurement: caches and allocators make that difference, and it does not change
where the time is spent."""


def by_stage(found: Difference, both: Both) -> Difference:
    """Add the stages, without a rest if a stage does not grow in proportion or stages overlap."""
    names, sets = stages_of(both)
    if len(sets) < stats.FEWEST:
        return found

    def outside(one: Side) -> Groups:
        return [[one.whole[at] - one.waits[at] - sum(one.stages[name][at] for name in names)
                 for at in sets]]  # fmt: skip

    curved = not_additive(both)
    straight = [name for name in names if name not in {one.stage for one in curved}]
    overlaps = [] if curved else overlaps_of(STAGES, both, list(map(outside, both)))
    waits = waiting([sets], both, count=len(names) + 2)
    table = Table(len(names) + (2 if waits else 1))
    return replace(
        found,
        stages=[table.row(name, *([[one.stages[name][at] for at in sets]] for one in both))
                for name in straight],
        stage_input=waits,
        rest=None if curved or overlaps else table.row(OUTSIDE, *map(outside, both)),
        stage_step=whole_step([sets], both),
        not_additive=curved,
        overlaps=[*found.overlaps, *overlaps],
    )  # fmt: skip


def stages_of(both: Both) -> tuple[list[str], list[int]]:
    """The stages that both frameworks have, and the sets of processes that measured all of them."""
    base, other = both
    names = list(base.stages) if base.stages.keys() == other.stages.keys() else []
    measured = [one.stages[name] for one in both for name in names]
    whole = [sets for one in both for sets in (one.whole, one.waits)]
    return names, common([*measured, *whole]) if names else []


def not_additive(both: Both) -> list[NotAdditive]:
    """The stages whose doubling costs a different time than some of their blocks suggest."""
    table = Table(sum(len(one.partly) for one in both))
    found = []
    for one in both:
        for stage, (form, partly) in one.partly.items():
            twice, none = one.stages.get(stage, {}), dict.fromkeys((*one.whole,), 0.0)
            if min(len(twice), len(partly)) < stats.FEWEST:
                continue
            share = form.blocks / form.added
            _, groups = combined([Term(1.0, none, twice), Term(-share, none, partly)])
            off = table.interval(groups)
            least = max(negligible(both), TOLERATED * abs(fmean(twice.values())))
            if off.shown and abs(off.value) > least:
                found.append(NotAdditive(
                    framework=one.label, stage=stage, blocks=form.blocks, added=form.added,
                    twice_ms=fmean(twice.values()), partly_ms=fmean(partly.values()),
                ))  # fmt: skip
    return found


@dataclass(frozen=True)
class Within:
    """The time of a stage, or of the rest of the step, and the calls of its operators."""

    row: Row
    terms: Sequence[Term]
    calls: Mapping[str, int]
    """Calls by measured operator; in the rest, negative if the stages have more than the step."""
    unmeasured: Sequence[str]

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(map(kind_of, self.calls)))

    def operators(self, both: Both, kind: str | None = None, *, weight: int = 1) -> list[Term]:
        """The operators of a kind, or all of them."""
        base, other = (one.operators for one in both)
        return [
            Term(weight * calls / base[name].count, base[name].milliseconds,
                 other[name].milliseconds)
            for name, calls in self.calls.items()
            if kind in (None, kind_of(name))
        ]  # fmt: skip


def within_stages(found: Difference, both: Both) -> Difference:
    """Add the stages that differ, and the rest if it does, by kind of operator."""
    differing = [one for one in withins(found, both) if one.calls]
    if not differing:
        return found
    table = Table(sum(len(one.kinds) + 1 for one in differing))
    made, overlaps = [], list(found.overlaps)
    for one in differing:
        empty = empty_steps(both) if one.row is found.rest else []
        left = [*one.terms, *one.operators(both, weight=-1),
                *(term._replace(weight=-1.0) for term in empty)]  # fmt: skip
        remainder = table.row(IN_NONE, *combined(left))
        level = f"operators in {one.row.name}"
        longer = both[remainder.difference_ms.value > 0].label
        beyond = [
            overlap
            for overlap in overlaps_of(level, both, combined(left), of="that part of the step")
            if overlap.framework == longer  # the other's share is not what the row would say
        ]
        overlaps += beyond
        made.append(StageParts(
            stage=one.row,
            kinds=[
                table.row(kind, *combined(one.operators(both, kind)),
                          times=sum(n for name, n in one.calls.items() if kind_of(name) == kind))
                for kind in one.kinds
            ],
            in_none=None if beyond else remainder,
            unmeasured=one.unmeasured,
        ))  # fmt: skip
    return replace(found, within=made, overlaps=overlaps)


def withins(found: Difference, both: Both) -> list[Within]:
    base, other = both
    stages = {name: Term(1.0, base.stages[name], other.stages[name]) for name in stages_of(both)[0]}
    whole = [Term(1.0, base.whole, other.whole), Term(-1.0, base.waits, other.waits)]
    made = []
    for row in found.depth:
        if not row.difference_ms.shown or row is found.stage_input:
            continue
        if row is found.rest:
            terms = [*whole, *(term._replace(weight=-1.0) for term in stages.values())]
            calls = {
                name: part.count - sum(part.stages.values()) for name, part in base.planned.items()
            }
        else:
            terms = [stages[row.name]]
            calls = {name: part.stages.get(row.name, 0) for name, part in base.planned.items()}
        own = {name: count for name, count in calls.items() if count}
        known = {name: count for name, count in own.items() if measured(name, both)}
        made.append(Within(row, terms, known, [name for name in own if name not in known]))
    return made


def measured(operator: str, both: Both) -> bool:
    """Whether both frameworks have measured it in enough sets of processes for an interval."""
    if any(operator not in one.operators for one in both):
        return False
    return len(common(one.operators[operator].milliseconds for one in both)) >= stats.FEWEST


def empty_steps(both: Both) -> list[Term]:
    base, other = both
    known = len(common([base.empty, other.empty])) >= stats.FEWEST
    return [Term(1.0, base.empty, other.empty)] if known else []


def kind_of(operator: str) -> str:
    return operator.partition(":")[2].partition("/")[0]
