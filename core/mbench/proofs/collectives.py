"""Judges what ranks get of a collective: whole numbers, right to the last bit or wrong."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from mbench.contract.sketch import sketch, thinned
from mbench.proofs.judge import CheckResult
from mbench.workloads.operators.collectives import answers
from mbench.workloads.workload import MOST_BATCHES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from mbench.contract.case import Case
    from mbench.contract.wire import Observation, Seen
    from mbench.workloads.operators.collectives import Collective

    Outputs = Mapping[str, Sequence[float]]
    """Sketches by name."""

__all__ = ["judge_ranks", "wrong_rank"]

KEPT = 32
"""Batches whose answers are remembered, of all cases: those of some that take turns."""


def judge_ranks(
    seen: Sequence[Observation], due: Sequence[Mapping[str, np.ndarray]], *, check: str
) -> Iterator[CheckResult]:
    """Of each rank, by the answers that are due to it."""
    for rank, (one, expected) in enumerate(zip(seen, due, strict=True)):
        sketches = {name: sketch(name, array) for name, array in expected.items()}
        said = wrong(one.steps[-1].outputs, sketches)
        where = said or ", ".join(expected) or "nothing is due"
        yield CheckResult(check, math.inf if said else 0.0, 0.0, f"rank {rank}: {where}")


def wrong_rank(case: Case, seen: Sequence[Seen]) -> str:
    """What is wrong with what a timed step left on each rank; empty where it is as due."""
    config = cast("Collective", case.resolve().config)
    due = timed_answers(config, case.seed * MOST_BATCHES + seen[0].batch)
    for rank, (one, expected) in enumerate(zip(seen, due, strict=True)):
        if said := wrong(one.outputs, expected):
            return f"rank {rank} after {one.step} steps: {said}"
    return ""


@lru_cache(KEPT)
def timed_answers(config: Collective, seed: int) -> list[dict[str, list[float]]]:
    """By rank, of a step on the batch of that seed, as workers tell of timed steps."""
    return [
        {name: sketch(name, thinned(array)) for name, array in of_rank.items()}
        for of_rank in answers(config, seed)
    ]


def wrong(found: Outputs, due: Outputs) -> str:
    """What is not exactly as it is due; empty where all is. Sketches of whole numbers are exact."""
    if set(found) != set(due):
        had = ", ".join(sorted(found)) or "nothing"
        return f"it has {had} instead of {', '.join(due) or 'nothing'}"
    for name, expected in due.items():
        if list(found[name]) != list(expected):
            return f"{name} is not what the ranks' numbers make"
    return ""
