"""What speaks against a case whose losses scatter because every step draws its own masks."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mbench.results.events import Evidence
    from mbench.results.evidence import Earlier
    from mbench.results.records import CaseRecord

__all__ = ["between_two", "unlike_means", "unlike_scatter"]

ERRORS = 6.0
"""How many standard errors apart means may lie. With the fewest losses, and nine means, one
comparison in thirty thousand is called unlike by chance, if scatter is normal."""
FEWEST = 24
"""Degrees of freedom below which the scatter is not known."""
UNLIKE, FEWEST_EACH = 10.0, 16
"""The factor by which the variances of two cases may differ, and the degrees of freedom that each
case must have to be judged. Chance exceeds the factor in one comparison in thirty thousand, if
scatter is normal."""


def unlike_means(baseline: CaseRecord, other: CaseRecord, slope: float) -> str:
    """Compares mean losses, by batch and overall, given the scatter that masks cause.

    `slope` is how losses change as parameters are carried, see validity.drift.
    """
    gate = baseline.planned.gates.means
    if gate is None or baseline is other:
        return ""
    ours, theirs = (drawn(case, slope) for case in (baseline, other))
    batches = sorted(batch for batch in set(ours) & set(theirs))
    squares_of_all, freedom = scatter(found[batch] for found in (ours, theirs) for batch in batches)
    if freedom < FEWEST:
        return ""
    variance = squares_of_all / freedom
    gaps = {b: fmean(theirs[b]) - fmean(ours[b]) for b in batches}
    squares = {b: variance * (1 / len(ours[b]) + 1 / len(theirs[b])) for b in batches}
    size = abs(fmean(fmean(ours[batch]) for batch in batches))
    everywhere = math.sqrt(sum(squares.values())) / len(batches)
    tests = [("", fmean(gaps.values()), everywhere)]
    tests += [(f" of batch {batch}", gaps[batch], math.sqrt(squares[batch])) for batch in batches]
    for where, gap, error in tests:
        if abs(gap) > ERRORS * error + gate * size:
            times = abs(gap) / error if error else math.inf
            return f"the mean loss{where}, as timed, off by {times:.2g} times its standard error"
    return ""


def unlike_scatter(baseline: CaseRecord, other: CaseRecord, slopes: Sequence[float]) -> str:
    """Compares the scatter of each batch's losses: if nothing is dropped, they hardly scatter.

    `slopes` are how the losses of the two cases change as parameters are carried.
    """
    if baseline.planned.gates.means is None or baseline is other:
        return ""
    (ours, freedom), (theirs, freedom_of_theirs) = (
        scatter(drawn(case, slope).values())
        for case, slope in zip((baseline, other), slopes, strict=True)
    )
    if min(freedom, freedom_of_theirs) < FEWEST_EACH or not (ours or theirs):
        return ""
    times = theirs / freedom_of_theirs / (ours / freedom) if ours else math.inf
    if 1 / UNLIKE <= times <= UNLIKE:
        return ""
    return (
        f"losses of a batch, as timed, scatter {math.sqrt(times):.2g} times as much as those of "
        f"{baseline.planned.label}"
    )


def between_two(baseline: CaseRecord, other: CaseRecord, slope: float) -> float:
    """How far two losses of a batch may lie apart by their masks alone; 0.0 if no masks are drawn,
    or if there are too few losses to know. The smaller scatter of the two cases counts, so that no
    case gains by a wide one.
    """
    if baseline.planned.gates.means is None:
        return 0.0
    found = [scatter(drawn(case, slope).values()) for case in (baseline, other)]
    if min(freedom for _, freedom in found) < FEWEST_EACH:
        return 0.0
    return ERRORS * math.sqrt(2 * min(squares / freedom for squares, freedom in found))


def scatter(groups: Iterable[Sequence[float]]) -> tuple[float, int]:
    """The sum of all squared distances from a group's mean, and their degrees of freedom."""
    squares, freedom = 0.0, 0
    for group in groups:
        mean = fmean(group)
        squares += sum((loss - mean) ** 2 for loss in group)
        freedom += len(group) - 1
    return squares, freedom


def drawn(case: CaseRecord, slope: float) -> Mapping[int, Sequence[float]]:
    """Losses by batch, less their change by `slope`: as they would be at the start. Processes that
    begin with the same random numbers draw the same masks, so equal losses after the same steps
    count once.
    """
    found: dict[int, set[tuple[int, float]]] = {}
    for process in case.processes.values():
        looks = [one for _, last in process.evidence for one in (last, *last.earlier)]
        for seen in cast("list[Evidence | Earlier]", looks):
            if seen.loss is not None:
                one = (seen.step, seen.loss - slope * seen.due)
                found.setdefault(seen.batch, set()).add(one)
    return {batch: [loss for _, loss in sorted(ones)] for batch, ones in found.items()}
