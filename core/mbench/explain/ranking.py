"""Which parts of a step to measure first: those of stages that differ, by what they can explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.explain.analysis import explain
from mbench.explain.plan import form_in
from mbench.explain.summary import Difference
from mbench.scenarios.find import resolve, scenario_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.case import Case
    from mbench.explain.plan import Part
    from mbench.results.records import Run
    from mbench.spec.planning import Comparison

__all__ = ["ranked_parts", "stages_that_differ"]

FLOPS_PER_BYTE = 10.0
"""FLOPs that a machine computes while it moves a byte, roughly: a CPU core 5 to 20."""


def ranked_parts(whole: Comparison, parts: Sequence[Part], run: Run) -> list[Comparison]:
    """Operators and checks of stages, first those that may explain most of what `run` has shown.

    A check of a stage that differs comes before its operators, which can be trusted only with it.
    """
    case = whole.entries[0].case
    differ = stages_that_differ(run)

    def key(part: Part) -> tuple[int, float]:
        own = part.comparison.entries[0].case
        if form := form_in(own.model, case.model):
            return 2 if form.stage in differ else -1, cost(own)
        return int(bool(differ & part.stages.keys())), part.count * cost(own)

    return [part.comparison for part in sorted(parts, key=key, reverse=True)]


def stages_that_differ(run: Run) -> set[str]:
    """The stages in which any two frameworks differ, by what has been measured so far."""
    return {
        row.name
        for pair in explain(run).differences
        if isinstance(pair, Difference)
        for row in pair.stages
        if row.difference_ms.shown
    }


def cost(case: Case) -> float:
    """The cost of a call, in bytes that could be moved meanwhile."""
    workload = resolve(case)
    moved = workload.moved_bytes(training=scenario_of(case).training, number_bytes=4) or 0
    return max(workload.forward_flops() / FLOPS_PER_BYTE, moved)
