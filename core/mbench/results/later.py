"""Compares the changes of every tensor after later steps with those of another process, in length
and in direction, and finds changes that came to a halt, which no rounding excuses.

Only processes that made the same number of steps on the same data are compared. Both begin with the
batches that are the same everywhere, in turn; data that the parent drew has a name
(`Changes.data`). If that name differs, nothing is said about these steps, since other data lead
elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.results.changes import (
    BEGUN,
    LEAST_SHARE,
    SMALLEST,
    carried,
    distance,
    growths,
    together,
    walked,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mbench.results.events import Changes
    from mbench.results.evidence import Gates
    from mbench.results.records import CaseRecord, Process

__all__ = ["fallen_short", "unlike_tensors"]

HALF = 0.5
"""The least share of the due distance. Rounding adds to a distance, and hardly ever shortens it.
The least seen in amp-bf16 is 0.69 of the due distance for single tensors, and 0.94 for whole
models."""
TIMES = 20.0
"""How many times as far as all changes together a single tensor may lie apart: five sums only
estimate a distance, the rounding of few numbers averages out less, and changes of a norm's weights
are small beside these. Seen for ResNet-18 in fp32, channels last, with two threads and with another
optimizer, after 4 to 128 steps: all together 2e-4 to 1.1e-3, the farthest of these tensors 3.2e-3;
for TensorFlow against PyTorch 3.3e-3 and, for the first norm's weights, 0.041. Remembered gradients
in place of all but the last layer's give 0.14 and 0.36 after 64 steps."""


def unlike_tensors(
    baseline: CaseRecord, other: CaseRecord, gates_after: Callable[[int], Gates]
) -> Iterator[str]:
    """Of the tensors that make up enough of all changes, the one that lies farthest apart in
    direction, and the one that fell furthest short, if it came less than half as far. If masks are
    drawn or rounding leaves no direction, there is none to compare, and lengths have a gate of
    their own; in bf16 few numbers of a tensor move.
    """
    begun = gates_after(BEGUN)
    if begun.norm is None or begun.statistics is None:
        return
    worst, said = (1.0, 1 - HALF), ["", ""]
    for change, reference in alike(baseline, other):
        direction = gates_after(change.step).direction
        limit = TIMES * direction if direction is not None else 1.0
        least = LEAST_SHARE * together(reference.parameters) ** 2
        times = carried(change, reference)
        for name, due in reference.parameters.items():
            found = change.parameters.get(name)
            if found is None or due[0] ** 2 <= least:
                continue
            far = distance(found, due) / max(due[0], SMALLEST)
            short = 1 - found[0] / max(times * due[0], SMALLEST)
            after = f"updates of {name} after {change.step} timed steps"
            if limit < 1 and far > worst[0] * limit and change.skipped == reference.skipped:
                worst, said[0] = (far / limit, worst[1]), f"{after} off by {far:.2g} in direction"
            if begun.tensor is None and short > worst[1]:
                worst, said[1] = (worst[0], short), f"{after} went {1 - short:.2g} times as far"
    yield from filter(None, said)


def fallen_short(baseline: CaseRecord, other: CaseRecord) -> Iterator[str]:
    """Changes that came less than half as far as due. For each of two cases, what is due since the
    first steps is how far the other came in as many steps on the same data. A case by itself is
    compared with a random walk, then process with process.
    """
    if baseline.planned.gates.norm is None or other.planned.gates.norm is None:
        return
    if baseline is other:
        for found in growths(other):
            if found.grown < HALF * walked(found.due):
                yield (
                    f"{other.planned.label}: updates of {found.steps} timed steps are "
                    f"{found.grown / found.due:.2g} times what those of the first {found.begun} "
                    "predict"
                )
                return
    shortest, said = HALF, ""
    for change, reference, ways in since_begun(baseline, other):
        for times, one, two in ((ways, other, baseline), (1 / ways, baseline, other)):
            if times < shortest:
                shortest = times
                itself = "another process" if one is two else two.planned.label
                said = (
                    f"{one.planned.label}: since step {BEGUN}, updates of "
                    f"{max(change.step, reference.step)} timed steps went {times:.2g} times as far "
                    f"as those of {itself}"
                )
    if said:
        yield said


def since_begun(
    baseline: CaseRecord, other: CaseRecord
) -> Iterator[tuple[Changes, Changes, float]]:
    """For changes after the same number of steps, how many times as far the second case came since
    the first `BEGUN` steps. Both must have recorded how far those steps came on the same data.
    """
    for one, two in pairs(baseline, other):
        first, second = (
            {(change.data, change.step): change for change in process.changes}
            for process in (one, two)
        )
        for (data, step), change in second.items():
            begun = (data, BEGUN)
            if step < 2 * BEGUN or (data, step) not in first:
                continue
            if begun not in first or begun not in second:
                continue
            reference = first[data, step]
            way, due = (
                together(known[data, step].parameters)
                / max(together(known[begun].parameters), SMALLEST)
                for known in (second, first)
            )
            if way and due:
                yield change, reference, way / due / carried(change, reference)


def alike(baseline: CaseRecord, other: CaseRecord) -> Iterator[tuple[Changes, Changes]]:
    """Changes of the second case, and those of the first after the same number of steps on the same
    data. Unless the parent drew the data, batches come in turn only in the first `BEGUN` steps.
    """
    known = {
        (change.data, change.step): change
        for process in baseline.processes.values()
        for change in process.changes
    }
    for process in other.processes.values():
        for change in process.changes:
            reference = known.get((change.data, change.step))
            in_turn = change.step == BEGUN or change.data
            if reference is not None and in_turn and change.step >= BEGUN:
                yield change, reference


def pairs(baseline: CaseRecord, other: CaseRecord) -> Iterator[tuple[Process, Process]]:
    """Each process of the second case, and the first process of the first case on the same data, so
    that work grows only as the number of processes does.
    """
    known: dict[str, Process] = {}
    for process in baseline.processes.values():
        for change in process.changes:
            known.setdefault(change.data, process)
    for process in other.processes.values():
        of_them = {id(known[one.data]): known[one.data] for one in process.changes
                   if one.data in known}  # fmt: skip
        for reference in of_them.values():
            if reference is not process:
                yield reference, process
