"""Several runs of the same cases as one, in which each run is a replicate."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.results.difference import CONDITIONS, changes, facts, match, version_changes
from mbench.results.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.results.case_summary import CaseSummary
    from mbench.results.summary import Summary

__all__ = ["as_one"]


def as_one(summaries: Sequence[Summary], *, by_run: bool) -> Summary:
    """The first of several runs, with the figures of all. Each run's value takes the place of a
    process's, so that intervals include effects that last for a whole run. Without `by_run`, a
    single run stays as it is.

    A case has a figure only if it has one in every run, and is in doubt if it is in any run. Raises
    UsageError for a run that is given twice, and for runs of other machines or versions.
    """
    first, *others = summaries
    if not by_run:
        return first
    names = [summary.run for summary in summaries]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{twice} is given twice; each run of a side counts once")
    columns = [[(first, case)] for case in first.cases]
    for other in others:
        if changed := changes(facts(first), facts(other), CONDITIONS):
            raise UsageError(unlike(first, other, next(iter(changed))))
        pairs, _ = match(first.cases, other.cases)
        there = {id(case): same for case, same in pairs}
        for column in columns:
            _, leading = column[0]
            if same := there.get(id(leading)):
                column.append((other, same))
                check_versions(column)
    cases = [merged([case for _, case in column], len(summaries)) for column in columns]
    return replace(first, run=", ".join(names), cases=cases)


def check_versions(column: Sequence[tuple[Summary, CaseSummary]]) -> None:
    """Raises UsageError if the last run measured a case with other versions than the first run in
    which they are known. They are not if no worker of the case started.
    """
    *before, (new, now) = column
    known = next((one for one in before if one[1].version is not None), None)
    if known and now.version is not None:
        base, then = known
        if found := version_changes(then, now):
            raise UsageError(unlike(base, new, next(iter(found))))


def unlike(first: Summary, other: Summary, what: str) -> str:
    return (
        f"{first.run} and {other.run} differ in {what}: "
        "runs of one side must be from the same machine and have the same versions"
    )


def merged(cases: Sequence[CaseSummary], runs: int) -> CaseSummary:
    """One case of all runs."""
    first = cases[0]
    if len(cases) < runs:
        lacking = f"{runs - len(cases)} of {runs} runs have no such case"
        return replace(first, outcome="not-measured", reason=lacking)
    ended = next((case for case in cases if case.outcome != "ok"), None)
    if ended:
        return ended
    proofs = [case.equal_work for case in cases]
    failed = next((proof for proof in proofs if proof and not proof.proven), None)
    return replace(
        first,
        metrics={
            name: together([case.metrics[name] for case in cases])
            for name in first.metrics
            if all(name in case.metrics for case in cases)
        },
        metrics_lacking={name: why for case in cases for name, why in case.metrics_lacking.items()},
        equal_work=failed or (None if None in proofs else proofs[0]),
        distorted=max(case.distorted for case in cases),
        doubts=[doubt for case in cases for doubt in case.doubts],
    )


def together(figures: Sequence[Figure]) -> Figure:
    """The geometric mean of the runs' values; each run is one replicate."""
    values = [figure.value for figure in figures]
    center = math.exp(fmean(map(math.log, values)))
    return Figure(value=center, low=None, high=None, unit=figures[0].unit, processes=values)
