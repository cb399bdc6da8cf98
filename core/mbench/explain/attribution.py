"""The parts that answer where a difference is, and what they leave unexplained."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mbench.explain.stages import STAGES, kind_of, measured
from mbench.explain.summary import Attribution
from mbench.explain.sums import Table, Term, combined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mbench.explain.summary import Difference, Row, StageParts
    from mbench.explain.sums import Both

__all__ = ["attributed", "by_size"]

MOST = 3
"""Most parts that the answer names."""
LEAST = 0.05
"""Share of the largest part, or of the whole difference: smaller parts are only in the tables."""
HALF = 0.5


def attributed(found: Difference, both: Both) -> Difference:
    """Add an answer: the stages that differ and operators outside all stages, or, for a model
    without stages, its operators.
    """
    stages = [row for row in found.stages if row.difference_ms.shown]
    outside = [row for row in found.kinds if row.difference_ms.shown and not in_stage(row, both)]
    waits = [found.input] if found.input and found.input.difference_ms.shown else []
    known = by_size([*stages, *waits, *(outside if found.stages else shown_kinds(found))])
    whole = found.step.difference_ms
    largest = max([abs(row.difference_ms.value) for row in known]
                  + [abs(whole.value) * whole.shown])  # fmt: skip
    named = [row for row in known if abs(row.difference_ms.value) >= LEAST * largest][:MOST]
    if not named:
        return found
    within = {one.stage.name: one for one in found.within}
    answer = [attribution(row, row in stages, within.get(row.name)) for row in named]
    overlap = found.overlap(STAGES) if stages else found.overlap("operators")
    if overlap or found.not_additive:
        return replace(found, answer=answer)
    base, other = both
    left = [Term(1.0, base.whole, other.whole)]
    for row in named:
        left += [
            Term(-term.weight, term.base, term.other)
            for term in ([Term(1.0, base.waits, other.waits)] if row in waits
                         else [Term(1.0, base.stages[row.name], other.stages[row.name])]
                         if row in stages else of_kind(row.name, both))
        ]  # fmt: skip
    return replace(found, answer=answer, unattributed=Table(1).difference(*combined(left)))


def shown_kinds(found: Difference) -> list[Row]:
    return [row for row in found.kinds if row.difference_ms.shown]


def in_stage(kind: Row, both: Both) -> bool:
    return any(part.stages for name, part in both[0].planned.items() if kind_of(name) == kind.name)


def of_kind(kind: str, both: Both) -> list[Term]:
    base, other = (one.operators for one in both)
    return [
        Term(1.0, base[name].milliseconds, other[name].milliseconds)
        for name in base
        if kind_of(name) == kind and measured(name, both)
    ]


def attribution(row: Row, is_stage: bool, parts: StageParts | None) -> Attribution:
    """An attribution that says where within a stage at least half of the difference is."""
    made = Attribution(part=row.name, stage=is_stage, difference_ms=row.difference_ms)
    if parts is None:
        return made
    value = row.difference_ms.value
    rows = [*parts.kinds, *([parts.in_none] if parts.in_none else [])]
    for one in by_size([row for row in rows if row.difference_ms.shown]):
        if one.difference_ms.value / value >= HALF:
            return replace(made, inside=one.name, inside_ms=one.difference_ms.value)
    return made


def by_size(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -abs(row.difference_ms.value))
