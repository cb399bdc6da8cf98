"""Says what disturbed a measurement, by thresholds that docs/methodology.md gives reasons for."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

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
    """`kind` is a word for machines, `share` that of the rounds, `text` a sentence for people."""

    kind: str
    share: float
    text: str


def find_disturbances(
    rounds: Sequence[Round], *, cores: int, spare_cores: int
) -> list[Disturbance]:
    """What disturbed at least a tenth of `rounds`, each a sequence of blocks.

    `cores` are the logical ones that the worker may use; `spare_cores` are the physical ones that
    it leaves to others.
    """
    found = []
    for kind, limit, read, text in (
        ("other-load", OTHER_CORES + SPARE_SHARE * spare_cores, lambda block: block.other_cores,
         f"other processes used {{:.1f}} of {cores} cores"),
        ("stolen-cpu", OTHER_CORES, lambda block: block.stolen_cores,
         f"the hypervisor took {{:.1f}} of {cores} cores away"),
        ("cpu-limit", THROTTLED, lambda block: block.throttled,
         "the cgroup's CPU limit held processes up for {:.2f} of the time"),
        ("memory", MEMORY_STALLED, lambda block: block.memory_stalled,
         "processes waited for memory for {:.2f} of the time"),
        ("swap", SWAPPED_BYTES, lambda block: block.swapped_bytes,
         "{:,.0f} bytes were swapped"),
    ):  # fmt: skip
        levels = [level for one in rounds if (level := highest(one, read)) and level > limit]
        if levels:
            found.append(disturbance(kind, len(levels), rounds, text.format(fmean(levels))))
    found += clock_changes("cpu-clock", "processor", rounds, lambda block: block.mhz)
    found += clock_changes("gpu-clock", "GPU", rounds, lambda block: block.gpu_mhz)
    slow = [reasons for one in rounds if (reasons := slowdowns(one))]
    if slow:
        text = f"the GPU slowed itself down ({', '.join(sorted(set().union(*slow)))})"
        found.append(disturbance("gpu-slowdown", len(slow), rounds, text))
    return [disturbance for disturbance in found if disturbance.share >= LEAST_ROUNDS]


def disturbance(kind: str, hit: int, rounds: Sequence[Round], text: str) -> Disturbance:
    """One that was found in `hit` of the rounds."""
    share = hit / len(rounds)
    return Disturbance(kind=kind, share=share, text=f"{text} in {100 * share:.0f} % of the rounds")


def clock_changes(
    kind: str, whose: str, rounds: Sequence[Round], read: Read
) -> Iterator[Disturbance]:
    """Rounds whose clock lies apart from the median round's."""
    clocks = [clock for one in rounds if (clock := highest(one, read))]
    middle = median(clocks) if clocks else 0.0
    changes = [change for clock in clocks if (change := abs(clock / middle - 1)) > CLOCK_CHANGE]
    if changes:
        text = f"the {whose}'s clock was up to {100 * max(changes):.0f} % off its {middle:,.0f} MHz"
        yield disturbance(kind, len(changes), rounds, text)


def slowdowns(one: Round) -> set[str]:
    """Why the GPU was slower in a round than it could be."""
    return {reason for block in one for reason in block.gpu_slowed_by} - HARMLESS_SLOWDOWNS


def highest(one: Round, read: Read) -> float | None:
    """The largest value of a round's blocks that have one."""
    return max((value for block in one if (value := read(block)) is not None), default=None)
