"""Which operators are measured first: those of stages that differ, by what they can explain."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mbench.explain.analysis import explain
from mbench.explain.plan import PARTLY
from mbench.explain.summary import Difference
from mbench.scenarios.find import resolve, scenario_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from mbench.contract.case import Case
    from mbench.results.records import Run
    from mbench.spec.planning import Comparison

__all__ = ["ranked_operators", "stages_that_differ"]

FLOPS_PER_BYTE = 10.0
"""What a machine computes while it moves a byte, about: a CPU core 5 to 20."""


def ranked_operators(
    whole: Comparison, operators: Sequence[Comparison], counts: Mapping[int, int], run: Run
) -> list[Comparison]:
    """The comparisons of operators, those first that may explain most of what `run` has shown."""
    case = whole.entries[0].case
    wanted = operators_of(case, stages_that_differ(run))

    def key(one: Comparison) -> tuple[bool, float]:
        own = one.entries[0].case
        return own.model in wanted, counts.get(one.number, 1) * cost(own)

    return sorted(operators, key=key, reverse=True)


def stages_that_differ(run: Run) -> set[str]:
    """Of any two frameworks, by what was measured until now."""
    return {
        row.name
        for pair in explain(run).differences
        if isinstance(pair, Difference)
        for row in pair.stages
        if row.difference_ms.shown
    }


def operators_of(case: Case, stages: Collection[str]) -> set[str]:
    """Those that a model has more of with these stages longer."""
    workload = resolve(case)
    training = scenario_of(case).training
    own = Counter(workload.operations(case.batch_size, training=training))
    found: set[str] = set()
    for stage, longer in workload.lengthened().items():
        if stage.partition(PARTLY)[0] in stages:
            more = Counter(longer.operations(case.batch_size, training=training))
            found |= set(more - own)
    return found


def cost(case: Case) -> float:
    """Of a call, in bytes that could be moved meanwhile."""
    workload = resolve(case)
    moved = workload.moved_bytes(training=scenario_of(case).training, number_bytes=4) or 0
    return max(workload.forward_flops() / FLOPS_PER_BYTE, moved)
