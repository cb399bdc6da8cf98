"""What timed processes did outside their blocks, and what others did to them: work left until the
clock has stopped, more cores than were asked for, workers that may no longer run as they did.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from mbench.console import counted
from mbench.contract.device import HOST
from mbench.contract.feed import RESIDENT, feed_of
from mbench.machine import standing
from mbench.results.clocks import FEWEST_BLOCKS, beyond, blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mbench.machine.standing import Move
    from mbench.results.records import CaseRecord, Process, Watched

__all__ = ["Usual", "misconduct", "unchecked", "usual"]

TIMES_OTHERS = 3.0
"""How many times as slow as the slowest other one a framework may be between blocks."""
BYTES_PER_SECOND = 1e8
"""The slowest rate at which outputs are read and sketched: JAX on an H100 copied a whole answer at
7e8."""
LOOK = (0.02, 0.005)
"""How much longer than due a look may take, in processor time: a share of the block's seconds, plus
seconds."""
LOOK_ALONE = (0.02, 0.02)
"""The same if no other framework shows how long a look takes."""
LOOK_WAITED = (0.05, 0.02)
"""The same by the parent's clock, if the processor does not do the work of a look: a busy machine
delays seven of eight answers by at most 9 ms."""
BETWEEN = (0.05, 0.02)
"""Share of a block's processor time, and seconds, that may be used between blocks beyond untimed
steps, looks, and what others use there."""
EXTRA_CORES = 0.3
"""Cores that a worker may use on average beyond the threads that were asked for: the first thread
may prepare the next step while others still compute."""
LEAST_SECONDS = 0.5
"""The fewest seconds of all blocks together for which their mean counts."""


@dataclass(frozen=True)
class Usual:
    """The most that any case of a framework takes; a comparison may have several of them."""

    look: float | None
    """Seconds of work that a look takes, by the median of a case's blocks; None if not known."""
    read_bytes: int | None
    more: float | None
    """Processor seconds between two blocks beyond the steps there, by the median; None if not
    known."""
    cores: int
    """Cores that a worker may use; 0 if not known."""

    def joined(self, other: Usual) -> Usual:
        return Usual(
            most(self.look, other.look), most(self.read_bytes, other.read_bytes),
            most(self.more, other.more), max(self.cores, other.cores),
        )  # fmt: skip


Number = TypeVar("Number", int, float)


def most(one: Number | None, other: Number | None) -> Number | None:
    return max((value for value in (one, other) if value is not None), default=None)


def usual(cases: Iterable[CaseRecord]) -> dict[str, Usual]:
    """What is usual, by framework."""
    found: dict[str, Usual] = {}
    for case in cases:
        seen, more = list(looks(case)), [one for _, one in between(case)]
        of_case = Usual(
            look=median(took for _, took, _ in seen) if seen else None,
            read_bytes=max((size for _, _, size in seen), default=None),
            more=median(more) if more else None,
            cores=fewest_cores(case),
        )
        name = case.planned.framework
        found[name] = of_case.joined(found[name]) if name in found else of_case
    return found


def misconduct(case: CaseRecord, known: Mapping[str, Usual]) -> Iterator[str]:
    """Everything that speaks against a case, given what is usual for the frameworks that it is
    compared with.
    """
    who = case.planned.label
    rivals = [one for name, one in known.items() if name != case.planned.framework]
    for said in (slow_looks(case, rivals), deferred(case, rivals), crowded(case),
                 confined(case, known.values())):  # fmt: skip
        if said:
            yield f"{who}: {said}"
    yield from moved(case)


def unchecked(case: CaseRecord, *, highest: float | None) -> Iterator[str]:
    """What could not be checked: a case's time if there are too few blocks, its speed if no product
    shows what the machine can do.
    """
    made = len(list(blocks(case)))
    if made < FEWEST_BLOCKS:
        yield f"its clock ({made} of {FEWEST_BLOCKS} rounds needed)"
    if case.planned.flops_per_sample and not highest:
        yield "its speed against the machine's peak (--mfu)"


def looks(case: CaseRecord) -> Iterator[tuple[float, float, int]]:
    """For each block, its seconds, the seconds of work that the look after it took, and the bytes
    read.

    On a processor, the work is the time that the parent waited, but at most the processor time. The
    processor time does not grow on a busy machine, and the wait limits what spinning threads add.
    """
    on_cpu = case.axes.device == HOST
    for process in case.processes.values():
        for block, seen in process.evidence:
            if not block.each:
                took = seen.looked
                if on_cpu and seen.look_cpu is not None:
                    took = min(took, seen.look_cpu)
                yield sum(block.nanoseconds) / 1e9, took / 1e9, seen.read_bytes


def slow_looks(case: CaseRecord, rivals: Sequence[Usual]) -> str:
    """Whether work was left until results were read."""
    made = list(looks(case))
    known = [one.look for one in rivals if one.look is not None]
    sizes = [one.read_bytes for one in rivals if one.read_bytes is not None]
    clocked = case.axes.device == HOST and all(
        seen.look_cpu is not None for one in case.processes.values() for _, seen in one.evidence
    )
    gate = (LOOK if known else LOOK_ALONE) if clocked else LOOK_WAITED
    due, largest = TIMES_OTHERS * max(known, default=0.0), 2 * max(sizes, default=0)
    found = beyond(
        ((own, took - due - (min(size, largest) if sizes else size) / BYTES_PER_SECOND)
         for own, took, size in made),
        gate,
    )  # fmt: skip
    if not found:
        return ""
    beside = f" (others: {max(known):.2g} s)" if known else ""
    return (
        f"{median(took for _, took, _ in made):.2g} s of work continued after synchronize, until "
        f"its results were read{beside}"
    )


def deferred(case: CaseRecord, rivals: Sequence[Usual]) -> str:
    """Whether more was computed between blocks than the untimed steps."""
    known = [one.more for one in rivals if one.more is not None]
    if not known:
        return ""
    spans, due = list(between(case)), TIMES_OTHERS * max(0.0, *known)
    found = beyond(((own, more - due) for own, more in spans), BETWEEN)
    if not found:
        return ""
    return (
        f"it used {median(more for _, more in spans):.2g} s of processor time between blocks "
        f"beyond its steps there (others: {max(known):.2g} s): work was left until after the clock"
    )


def between(case: CaseRecord) -> Iterator[tuple[float, float]]:
    """For every two successive blocks: processor seconds of the first one, and those used until the
    second, less those of the look and of the steps in between.

    Nothing is known about a process that was rebuilt or reloaded its parameters meanwhile, or about
    workers on other machines.
    """
    if case.axes.device != HOST or case.nodes or feed_of(case.axes.data) != RESIDENT:
        return  # between blocks, pipelines are filled and emptied
    for process in case.processes.values():
        yield from between_blocks(process)


def between_blocks(process: Process) -> Iterator[tuple[float, float]]:
    evidence = {(block.round, block.each): seen for block, seen in process.evidence}
    rebuilt = {build.round for build in process.builds}
    seen_of = [(one, evidence.get((one.block.round, one.block.each))) for one in process.watched]
    per_step = [used(one) / (one.block.steps + seen.lead)
                for one, seen in seen_of if seen and not one.block.each]  # fmt: skip
    if not per_step:
        return
    step = median(per_step)
    for (one, seen), (after, later) in pairwise(seen_of):
        if seen is None or later is None or seen.look_cpu is None or after.block.round in rebuilt:
            continue
        untimed = later.step - seen.step - after.block.steps - later.lead
        if untimed >= 0:
            spent = after.worker_seconds[0] - one.worker_seconds[1] - seen.look_cpu / 1e9
            spent -= (later.provided + seen.recalled) / 1e9
            yield used(one), spent - untimed * step


def used(one: Watched) -> float:
    """Processor seconds of a block."""
    return one.worker_seconds[1] - one.worker_seconds[0]


def crowded(case: CaseRecord) -> str:
    """Whether a worker used more cores than were asked for."""
    if case.axes.device != HOST or case.nodes:
        return ""
    blocks = [one.usage for process in case.processes.values() for one in process.watched
              if one.usage is not None]  # fmt: skip
    seconds = sum(block.seconds for block in blocks)
    if seconds < LEAST_SECONDS:
        return ""
    cores = sum(block.worker_cores * block.seconds for block in blocks) / seconds
    asked = asked_cores(case)
    if cores <= asked + EXTRA_CORES:
        return ""
    return f"it used {cores:.1f} cores where {counted(asked, 'thread')} had been asked for"


def asked_cores(case: CaseRecord) -> int:
    """Cores that were asked for, on one machine."""
    return case.axes.threads * case.axes.parsed_scale.devices_per_node


def confined(case: CaseRecord, known: Iterable[Usual]) -> str:
    """Whether a worker may use fewer cores than others, and fewer than were asked for."""
    if case.axes.device != HOST:
        return ""
    own, wide = fewest_cores(case), max((one.cores for one in known), default=0)
    if 0 < own < min(wide, asked_cores(case)):
        return f"it could use {counted(own, 'core')} where others could use {wide}"
    return ""


def fewest_cores(case: CaseRecord) -> int:
    """The fewest cores that a worker may use; 0 if not known."""
    found = [one.cores for process in case.processes.values() for one in process.watched]
    return min(found, default=0)


def moved(case: CaseRecord) -> Iterator[str]:
    """What other processes changed about the case's workers: the first change of each kind."""
    told: dict[str, str] = {}
    times: Counter[str] = Counter()
    for number, process in case.processes.items():
        for at, (one, move) in changes(process):
            if said := of_move(move):
                when = "during" if move.within else "before"
                where = f" on {one.host}" if one.host else ""
                told.setdefault(
                    move.what,
                    f"process {number + 1} of {case.planned.label}{where} {said} {when} block {at}",
                )
                times[move.what] += 1
    for what, said in told.items():
        more = times[what] - 1
        yield said + (f", and {counted(more, 'more time')}" if more else "")


def changes(process: Process) -> Iterator[tuple[int, tuple[Watched, Move]]]:
    """Each change, with the number of its block, from 1."""
    numbers: Mapping[int, int] = {id(block): at for at, block in enumerate(process.blocks, start=1)}
    for one in process.watched:
        for move in one.moves:
            yield numbers.get(id(one.block), 0), (one, move)


def of_move(move: Move) -> str:
    """A change in words; empty if it does no harm."""
    if move.what == standing.CORES:
        was, now = len(move.was.split(",")), len(move.now.split(","))
        to = f"{now} other" if now == was else f"{now} rather than {was}"
        return f"was moved to {to} {'core' if max(now, was) == 1 else 'cores'}"
    if move.what == standing.NICE:
        return f"was given the nice value {move.now} instead of {move.was}"
    if move.what == standing.SCHEDULER:
        return f"was given the scheduling policy {move.now} instead of {move.was}"
    if move.what == standing.CGROUP:
        return "was put into another cgroup"
    return f"was {move.now}" if move.now != standing.RUNS else ""
