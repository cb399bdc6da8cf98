"""Collects evidence from timed processes: counts their steps and looks at the results."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, cast

from mbench.console import counted
from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.contract.scenario import RANKS
from mbench.engine.watching import TRIES, absences
from mbench.machine.processor_time import clocked
from mbench.plugins.launcher import pids_here
from mbench.proofs.exchange import wrong_rank
from mbench.results import events
from mbench.scenarios.find import resolve, scenario_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.plugins.launcher import Worker
    from mbench.results.evidence import Sketch
    from mbench.results.store import RunWriter
    from mbench.spec.planning import Entry

__all__ = ["CHANGES_AT", "EvidenceCollector"]


CHANGES_AT = (4, 16)
"""Steps after which changes of parameters are compared between processes: twice through all
batches, and a few, which the slowest cases reach, too."""
APART = 1e-3
"""Largest difference between ranks, relative to the largest number of a sketch."""
IDLE_LOOKS = 3
"""Of an idle worker. The quickest counts: a delayed one would hide work that went on."""
MOST_STEPS = 1000
"""After so many, parameters are reloaded: small steps add up, and once the batches are memorised,
the work is different."""


class EvidenceCollector:
    """All of this is outside the clock, and does not reveal to a worker which steps are timed."""

    def __init__(
        self, entry: Entry, process: int, worker: Worker, store: RunWriter, *, batches: int
    ) -> None:
        self.entry = entry
        self.process = process
        self.worker = worker
        self.store = store
        scenario = scenario_of(entry.case)
        self.training = scenario.updates
        self.in_ranks = scenario.proof == RANKS
        self.optimizer = resolve(entry.case).optimizer
        self.steps = 0
        """Since parameters were loaded."""
        self.awaited = list(CHANGES_AT) if self.training else []
        """Steps after which changes will be looked at."""
        self.changes_seen = 0
        """The steps at which changes were looked at last."""
        self.batches = batches
        self.looks = 0
        """After blocks."""
        self.warm = False
        self._held: list[events.Changes] = []

    def run(self, count: int) -> int:
        """Run steps outside of blocks; returns their nanoseconds.

        Those in which one of us was stopped are made again. The first one cannot be: how long that
        was is subtracted from it.
        """
        elapsed, tries = 0, TRIES
        while count:
            part = min(count, self.until_look() or count)
            known = absences(self.worker)
            nanoseconds = self.worker.run(part).nanoseconds[0]
            away = absences(self.worker)[len(known) :]
            first = not self.steps
            self.made(part)
            if away and not first and tries:  # of a pause in them, these steps say nothing
                tries -= 1
                continue
            elapsed += max(1, nanoseconds - round(1e9 * sum(one.seconds for one in away)))
            count -= part
        return elapsed

    def until_look(self) -> int:
        """Steps until changes are looked at next; 0 if they are not any more."""
        return self.awaited[0] - self.steps if self.awaited else 0

    def made(self, count: int) -> None:
        """Count steps, and look at the changes when they are due."""
        self.steps += count
        if self.awaited and self.steps == self.awaited[0]:
            del self.awaited[0]
            self.see_changes()

    def begin_recording(self) -> None:
        """The process has been recorded: earlier evidence may follow."""
        self.warm = True
        self.write()

    def refresh(self) -> None:
        """Reload parameters after many steps."""
        if self.training and self.steps >= MOST_STEPS:
            self.worker.ask(wire.Load(), wire.Loaded)
            self.steps = 0
            self.run(1)  # which allocates the optimizer's state

    def rebuilt(self) -> None:
        """The case was prepared again: its parameters are the initial ones."""
        self.steps = 0

    def approach(self, count: int) -> None:
        """Run untimed steps up to the next look at changes if a block would pass it.

        After the last of these, blocks end on each of the batches in turn: whatever their lengths,
        the same batches are looked at in all processes of all frameworks.
        """
        while 0 < self.until_look() < count:
            self.run(self.until_look())
        if not self.awaited:
            first = (self.looks + 1 - count) % self.batches
            self.worker.ask(wire.SelectBatch(batch=first), wire.BatchSelected)

    def discard(self, count: int) -> None:
        """Count steps of a block that is going to be measured again."""
        self.steps += count
        self.made(0)

    def see(self, of_block: events.OfBlock, *, steps: int, lead: int, waited: int) -> None:
        """Record the result of a block's last step; `waited` is the parent's time for the block
        and its lead-in.
        """
        used, begin = spent(self.worker), perf_counter_ns()
        seen = self.look()
        looked, by_then = perf_counter_ns() - begin, spent(self.worker)
        self.steps += lead + steps
        self.check(seen)
        self.looks += 1
        self.store.append(
            events.Evidence(
                **vars(of_block),
                step=seen.step,
                skipped=seen.skipped,
                due=self.optimizer.carried(seen.step - seen.skipped),
                batch=seen.batch,
                loss=seen.loss,
                outputs=sketches(seen.outputs),
                waited=waited,
                looked=looked,
                look_cpu=None if used is None or by_then is None else by_then - used,
                read_bytes=seen.read_bytes,
                lead=lead,
            )
        )
        self.made(0)

    def end(self) -> int:
        """Look once more, at all changes in training; returns the nanoseconds of an idle look."""
        idle = min(self.idle_look() for _ in range(IDLE_LOOKS))
        if self.training and self.steps != self.changes_seen:
            self.see_changes()
        return idle

    def idle_look(self) -> int:
        begin = perf_counter_ns()
        self.look()
        return perf_counter_ns() - begin

    def look(self, *, changes: bool = False) -> wire.Seen:
        """The first rank's report; raises Malformed if another rank has another model."""
        of_ranks = self.worker.ask_all(wire.Look(changes=changes), wire.Seen)
        if self.in_ranks and (said := wrong_rank(self.entry.case, of_ranks)):
            raise Malformed(said)
        first, *others = of_ranks
        for rank, seen in enumerate(others, start=1):
            if (seen.step, seen.skipped, seen.batch) != (first.step, first.skipped, first.batch):
                raise Malformed(f"rank {rank} ran other steps than rank 0")
            if changes and (name := unlike(first.changes, seen.changes)):
                raise Malformed(
                    f"after {counted(seen.step, 'step')}, {name} differs between rank {rank} and "
                    "rank 0: they do not train one model"
                )
        return first

    def see_changes(self) -> None:
        seen = self.look(changes=True)
        self.check(seen)
        self.changes_seen = self.steps
        self._held.append(
            events.Changes(
                case=self.entry.number,
                process=self.process,
                step=seen.step,
                skipped=seen.skipped,
                due=self.optimizer.carried(seen.step - seen.skipped),
                parameters=sketches(seen.changes),
                statistics=sketches(seen.statistics),
            )
        )
        if self.warm:
            self.write()

    def check(self, seen: wire.Seen) -> None:
        """Raises Malformed if the worker's count differs from ours."""
        if seen.step != self.steps:
            raise Malformed(
                f"the worker ran {counted(seen.step, 'step')} where {self.steps} were requested"
            )
        if not 0 <= seen.skipped <= seen.step:
            raise Malformed(f"the worker skipped {seen.skipped} of {counted(seen.step, 'step')}")

    def write(self) -> None:
        while self._held:
            self.store.append(self._held.pop(0))


def spent(worker: Worker) -> int | None:
    """Nanoseconds of processor time of a worker so far; None where it is on other machines, or this
    one does not tell.
    """
    found = [clocked(pid) for pid in pids_here(worker)]
    known = [seconds for seconds in found if seconds is not None]
    return round(1e9 * sum(known)) if known and len(known) == len(worker.processes) else None


def sketches(found: Mapping[str, Sequence[float]]) -> dict[str, Sketch]:
    """In the stored type; sketches of another length could not be read back."""
    return {name: cast("Sketch", tuple(sketch)) for name, sketch in found.items()}


def unlike(one: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> str:
    """The first tensor whose change differs; empty if there is none.

    Ranks that add the same gradients in another order differ by rounding.
    """
    if set(one) != set(other):
        return "a set of tensors"
    for name, sketch in one.items():
        size = max(map(abs, (*sketch, *other[name])), default=0.0)
        if any(abs(a - b) > APART * size for a, b in zip(sketch, other[name], strict=True)):
            return name
    return ""
