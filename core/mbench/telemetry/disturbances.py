"""Says what disturbed a measurement, by thresholds that docs/methodology.md gives reasons for."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from mbench.telemetry.usage import SLACK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mbench.telemetry.usage import Usage

    Round = Sequence[Usage]
    Read = Callable[[Usage], float | None]

__all__ = ["Disturbance", "find_disturbances"]

LEAST_ROUNDS = 0.1
"""Share of the rounds from which on a disturbance is told."""
OTHER_CORES = 0.1
"""Cores that others may use beside those that are to spare; also what may be stolen."""
SPARE_SHARE = 0.5
"""Share of the spare cores that others may use as well."""
THROTTLED = 0.01
"""Share of the time for which a cgroup's limit may hold the worker up."""
MEMORY_STALLED = 0.01
"""Share of the time for which processes may wait for memory."""
SWAPPED_BYTES = 2**20
"""Per block."""
CLOCK_CHANGE = 0.05
"""How far a round's clock may lie from that of the median round."""
HARMLESS_SLOWDOWNS = {"power cap"}
"""A GPU that works hard is at its power limit: that is its speed, not a disturbance."""


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """`kind` is a word for machines, `text` a sentence for people.

    `share` is that of the rounds in which it could be seen: clocks are not looked at in all.
    """

    kind: str
    share: float
    text: str


def find_disturbances(
    processes: Sequence[Sequence[Round]], *, cores: int, spare_cores: int
) -> list[Disturbance]:
    """What disturbed at least a tenth of the rounds of `processes`; a round is some blocks.

    `cores` are the logical ones that the worker may use; `spare_cores` are the physical ones that
    it leaves to others.
    """
    found = []
    rounds = [one for process in processes for one in process]
    limit = OTHER_CORES + SPARE_SHARE * spare_cores
    loads = [load for process in processes for load in loads_above(process, limit)]
    if loads:
        text = f"other processes used {fmean(loads):.1f} of {cores} cores"
        found.append(disturbance("other-load", len(loads), len(rounds), text))
    for kind, limit, read, text in (
        ("stolen-cpu", OTHER_CORES, lambda block: block.stolen_cores,
         f"the hypervisor took {{:.1f}} of {cores} cores away"),
        ("cpu-limit", THROTTLED, lambda block: block.throttled,
         "the cgroup's CPU limit held processes up for {:.2f} of the time"),
        ("memory", MEMORY_STALLED, lambda block: block.memory_stalled,
         "processes waited for memory for {:.2f} of the time"),
        ("swap", SWAPPED_BYTES, lambda block: block.swapped_bytes,
         "{:,.0f} bytes were swapped"),
    ):  # fmt: skip
        seen = known(rounds, read)
        levels = [level for level in seen if level > limit]
        if levels:
            found.append(disturbance(kind, len(levels), len(seen), text.format(fmean(levels))))
    found += clock_changes("cpu-clock", "processor", rounds, lambda block: block.mhz)
    found += clock_changes("gpu-clock", "GPU", rounds, lambda block: block.gpu_mhz)
    reasons = [why for one in rounds if (why := slowdowns(one)) is not None]
    slow = [why for why in reasons if why]
    if slow:
        text = f"the GPU slowed itself down ({', '.join(sorted(set().union(*slow)))})"
        found.append(disturbance("gpu-slowdown", len(slow), len(reasons), text))
    return [disturbance for disturbance in found if disturbance.share >= LEAST_ROUNDS]


def loads_above(process: Sequence[Round], limit: float) -> list[float]:
    """The load of others in each round that it disturbed.

    A small load that stays is within the slack of short blocks. So the rounds that are not above
    the limit by themselves are added up, which takes the slack off once, and count if they are
    above it together.
    """
    loads = [max(block.other_cores for block in one) for one in process]
    above = [load for load in loads if load > limit]
    quiet = [block for one, load in zip(process, loads, strict=True) if load <= limit
             for block in one]  # fmt: skip
    seconds = sum(block.seconds for block in quiet)
    others = sum(block.other_seconds for block in quiet) - SLACK_SECONDS
    if others > limit * seconds:
        above += [others / seconds] * (len(loads) - len(above))
    return above


def disturbance(kind: str, hit: int, seen: int, text: str) -> Disturbance:
    """One that was found in `hit` of the rounds in which it could be seen."""
    share = hit / seen
    return Disturbance(kind=kind, share=share, text=f"{text} in {100 * share:.0f} % of the rounds")


def clock_changes(
    kind: str, whose: str, rounds: Sequence[Round], read: Read
) -> Iterator[Disturbance]:
    """Rounds whose clock lies apart from the median round's."""
    clocks = known(rounds, read)
    middle = median(clocks) if clocks else 0.0
    changes = [change for clock in clocks if (change := abs(clock / middle - 1)) > CLOCK_CHANGE]
    if changes:
        text = f"the {whose}'s clock was up to {100 * max(changes):.0f} % off its {middle:,.0f} MHz"
        yield disturbance(kind, len(changes), len(clocks), text)


def slowdowns(one: Round) -> set[str] | None:
    """Why the GPU was slower in a round than it could be; None where nobody looked."""
    seen = [block.gpu_slowed_by for block in one if block.gpu_slowed_by is not None]
    return {reason for reasons in seen for reason in reasons} - HARMLESS_SLOWDOWNS if seen else None


def known(rounds: Sequence[Round], read: Read) -> list[float]:
    """The largest value of each round's blocks, of the rounds that have one."""
    values = ([v for block in one if (v := read(block)) is not None] for one in rounds)
    return [max(of_round) for of_round in values if of_round]
