"""Finds what disturbed a measurement. docs/methodology.md explains the thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean, median
from string import Formatter
from typing import TYPE_CHECKING, Protocol

from mbench.console import counted
from mbench.machine.pace import MEMORY_UNEVEN, UNEVEN
from mbench.machine.usage import SLACK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from mbench.machine.usage import Usage

    TimeSlice = tuple[int, int]
    """The number of a process, and that of one of its rounds."""
    Round = Sequence[Usage]
    Rounds = Mapping[TimeSlice, Round]
    Read = Callable[[Usage], float | None]

__all__ = ["WARM_UP", "Disturbance", "describe", "find_disturbances", "pace_changes"]

WARM_UP = "warm-up"
"""The kind of a disturbance that is not about single rounds."""
LEAST_ROUNDS = 0.1
"""Smallest share of disturbed rounds that is reported."""
OTHER_CORES = 0.1
"""Cores that others may use in addition to spare ones; also how many may be stolen."""
SPARE_SHARE = 0.5
"""Share of the spare cores that others may use."""
DISTORTING_CORES = 0.5
"""Like OTHER_CORES, but the limit above which a ratio may be distorted: frameworks whose threads
wait for the slowest one lose half of their speed, others a fraction."""
LEAST_SECONDS = 0.15
"""Shortest round whose load is known well enough to be distorting: it is counted in ticks."""
DISTORTING_PACE = 1.5
"""A core that is off its usual pace by more than this factor may distort a ratio."""
THROTTLED = 0.01
"""Share of the time for which a cgroup's limit may stop the worker."""
MEMORY_STALLED = 0.01
"""Share of the time for which processes may wait for memory."""
SWAPPED_BYTES = 2**20
"""Bytes that may be swapped per block."""
CLOCK_CHANGE = 0.05
"""Relative difference from the median round's clock above which a round counts as disturbed."""
HARMLESS_SLOWDOWNS = {"power cap"}
"""A GPU under full load is at its power limit: that is its speed, not a disturbance."""


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """Something that disturbed a measurement."""

    kind: str
    share: float
    """Share of disturbed rounds among those that could show it: clocks are not sampled in all."""
    says: str
    """A phrase with placeholders for `values`: "other processes used {:.1f} of 2 cores"."""
    values: tuple[float, ...] = ()
    rounds: frozenset[tuple[int, int]] = frozenset()
    """The disturbed rounds, by process and round; empty if it is not about single rounds."""
    distorting: frozenset[tuple[int, int]] = frozenset()
    """The rounds in which it is so strong that it may have changed which framework is faster."""
    host: str = ""
    """The machine; empty for the one that ran mbench."""

    def on(self, host: str) -> Disturbance:
        """The same on a named machine."""
        return replace(self, host=host)

    @property
    def text(self) -> str:
        """A sentence."""
        return describe([self])


class Described(Protocol):
    """The parts of a disturbance that its sentence is made of."""

    @property
    def kind(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def share(self) -> float: ...
    @property
    def says(self) -> str: ...
    @property
    def values(self) -> Sequence[float]: ...


def describe(found: Sequence[Described], *, rounds: bool = True) -> str:
    """One sentence for disturbances of one machine with the same phrase, with ranges of values.

    If `rounds`, it includes the share of the disturbed rounds.
    """
    first = found[0]
    values = iter(zip(*(one.values for one in found), strict=True))
    said = f"on {first.host}: " if first.host else ""
    for text, place, spec, _ in Formatter().parse(first.says):
        said += text + (span(next(values), spec or "") if place is not None else "")
    if rounds and first.kind != WARM_UP:
        said += f" in {span([100 * one.share for one in found], '.0f')} % of the rounds"
    return said


def span(values: Sequence[float], spec: str) -> str:
    """Formatted values, as a range if they differ: "1.1 to 1.3"."""
    least, most = format(min(values), spec), format(max(values), spec)
    return least if least == most else f"{least} to {most}"


def find_disturbances(rounds: Rounds, *, cores: int, spare_cores: int) -> list[Disturbance]:
    """What disturbed at least a tenth of `rounds`, each of which is a sequence of blocks.

    `cores` counts the logical cores that the worker may use, `spare_cores` the physical ones that
    it leaves to others.
    """
    found = []
    limit, there = OTHER_CORES + SPARE_SHARE * spare_cores, counted(cores, "core")
    if loads := loads_above(rounds, limit):
        says = f"other processes used {{:.1f}} of {there}"
        most = DISTORTING_CORES + SPARE_SHARE * spare_cores
        one = disturbance("other-load", loads, len(rounds), says, fmean(loads.values()))
        found.append(replace(one, distorting=above(loads, most) & long_enough(rounds)))
    for kind, limit, read, says in (
        ("stolen-cpu", OTHER_CORES, lambda block: block.stolen_cores,
         f"the hypervisor took {{:.1f}} of {there}"),
        ("cpu-limit", THROTTLED, lambda block: block.throttled,
         "the cgroup's CPU limit stopped processes for {:.2f} of the time"),
        ("memory", MEMORY_STALLED, lambda block: block.memory_stalled,
         "processes waited for memory for {:.2f} of the time"),
        ("swap", SWAPPED_BYTES, lambda block: block.swapped_bytes,
         "{:,.0f} bytes were swapped"),
    ):  # fmt: skip
        seen = known(rounds, read)
        levels = {at: level for at, level in seen.items() if level > limit}
        if levels:
            one = disturbance(kind, levels, len(seen), says, fmean(levels.values()))
            if kind == "stolen-cpu":
                hit = above(levels, DISTORTING_CORES) & long_enough(rounds)
                one = replace(one, distorting=hit)
            found.append(one)
    found += clock_changes("cpu-clock", "processor", rounds, lambda block: block.mhz)
    found += clock_changes("gpu-clock", "GPU", rounds, unforced_mhz)
    guests = known(rounds, lambda block: block.gpu_others)
    if beside := {at: count for at, count in guests.items() if count}:
        says = "{:.0f} other processes were on the GPU"
        found.append(disturbance("gpu-others", beside, len(guests), says, max(beside.values())))
    reasons = {at: why for at, one in rounds.items() if (why := slowdowns(one)) is not None}
    if slow := {at: why for at, why in reasons.items() if why}:
        says = f"the GPU slowed itself down ({', '.join(sorted(set().union(*slow.values())))})"
        found.append(disturbance("gpu-slowdown", slow, len(reasons), says))
    return [disturbance for disturbance in found if disturbance.share >= LEAST_ROUNDS]


def above(levels: Mapping[TimeSlice, float], limit: float) -> frozenset[TimeSlice]:
    """The rounds whose level is above `limit`."""
    return frozenset(at for at, level in levels.items() if level > limit)


def long_enough(rounds: Rounds) -> frozenset[TimeSlice]:
    """The rounds that are long enough for their load to be known to a fifth of a core."""
    return frozenset(
        at for at, one in rounds.items() if sum(block.seconds for block in one) >= LEAST_SECONDS
    )


def loads_above(rounds: Rounds, limit: float) -> dict[TimeSlice, float]:
    """The load of others in each round that it disturbed.

    A small constant load is within the error of short blocks. So a process's rounds below the limit
    are added up, which subtracts the error only once, and all of them count if their mean load is
    above the limit.
    """
    loads = {at: max(block.other_cores for block in one) for at, one in rounds.items()}
    found = {at: load for at, load in loads.items() if load > limit}
    quiet_ones: dict[int, list[TimeSlice]] = {}
    for at in rounds:
        if at not in found:
            quiet_ones.setdefault(at[0], []).append(at)
    for quiet in quiet_ones.values():
        blocks = [block for at in quiet for block in rounds[at]]
        seconds = sum(block.seconds for block in blocks)
        others = sum(block.other_seconds for block in blocks) - SLACK_SECONDS
        if others > limit * seconds:
            found |= dict.fromkeys(quiet, others / seconds)
    return found


def disturbance(
    kind: str, hit: Collection[TimeSlice], seen: int, says: str, *values: float
) -> Disturbance:
    """A disturbance that occurred in the rounds `hit`, of the `seen` rounds that could show it."""
    return Disturbance(kind=kind, share=len(hit) / seen, says=says, values=values,
                       rounds=frozenset(hit))  # fmt: skip


def clock_changes(kind: str, whose: str, rounds: Rounds, read: Read) -> Iterator[Disturbance]:
    """Rounds whose clock differs from the median round's."""
    clocks = {at: clock for at, clock in known(rounds, read).items() if clock}
    middle = median(clocks.values()) if clocks else 0.0
    changes = {
        at: change
        for at, clock in clocks.items()
        if (change := abs(clock / middle - 1)) > CLOCK_CHANGE
    }
    if changes:
        most = 100 * max(changes.values())
        says = f"the {whose}'s clock was up to {{:.0f}} % off its median of {{:,.0f}} MHz"
        yield disturbance(kind, changes, len(clocks), says, most, middle)


PACES = {
    "pace": (UNEVEN, "core speed"),
    "memory-pace": (MEMORY_UNEVEN, "memory speed"),
}
"""By kind: the factor by which the pace may be off the usual one, and its name."""


def pace_changes(kind: str, paces: Mapping[TimeSlice, float], *, usual: float) -> list[Disturbance]:
    """Rounds before which the core, timed by an empty loop, or memory, timed by a copy, was slower
    or faster than its `usual` pace.

    No counter in a virtual machine shows how much of the core's other hardware thread or of the
    memory bandwidth neighbours use.
    """
    limit, whose = PACES[kind]
    off = {at: max(one / usual, usual / one) for at, one in paces.items()}
    hit = {at: times for at, times in off.items() if times > limit}
    if not hit:
        return []
    says = f"{whose} varied by a factor of {{:.1f}}"
    found = disturbance(kind, hit, len(paces), says, max(hit.values()))
    if kind == "pace":
        found = replace(found, distorting=above(hit, DISTORTING_PACE))
    return [found] if found.share >= LEAST_ROUNDS else []


def unforced_mhz(block: Usage) -> float | None:
    """The GPU's clock, unless the power limit determines it: then it normally varies."""
    return None if HARMLESS_SLOWDOWNS & set(block.gpu_slowed_by or ()) else block.gpu_mhz


def slowdowns(one: Round) -> set[str] | None:
    """Why the GPU slowed down in a round; None if it was not sampled."""
    seen = [block.gpu_slowed_by for block in one if block.gpu_slowed_by is not None]
    return {reason for reasons in seen for reason in reasons} - HARMLESS_SLOWDOWNS if seen else None


def known(rounds: Rounds, read: Read) -> dict[TimeSlice, float]:
    """The largest value among each round's blocks, for the rounds that have one."""
    values = {
        at: [value for block in one if (value := read(block)) is not None]
        for at, one in rounds.items()
    }
    return {at: max(of_round) for at, of_round in values.items() if of_round}
