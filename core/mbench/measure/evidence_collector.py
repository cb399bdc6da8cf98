"""Collects evidence from timed processes: counts their steps and looks at the results."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, cast

from mbench.console import counted
from mbench.contract import wire
from mbench.contract.feed import RESIDENT, feed_of
from mbench.contract.reading import Malformed
from mbench.contract.scenario import RANKS
from mbench.engine.watching import TRIES, absences
from mbench.machine.processor_time import clocked
from mbench.measure.facts import draws_masks
from mbench.measure.fresh_data import RECALLED, Stream
from mbench.plugins.launcher import pids_here
from mbench.proofs.exchange import wrong_rank
from mbench.results import events
from mbench.results.evidence import Earlier
from mbench.scenarios.find import resolve, scenario_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.measure.fresh_data import Draws
    from mbench.plugins.launcher import Worker
    from mbench.results.evidence import Sketch
    from mbench.results.store import RunWriter
    from mbench.spec.planning import Entry

__all__ = ["CHANGES_AT", "EvidenceCollector"]


CHANGES_AT = (4, 16)
"""Steps after which parameter changes are compared between processes: a small number that even the
slowest cases reach, and two passes over all batches."""
APART = 1e-3
"""Largest difference between ranks, relative to the largest number of a sketch."""
IDLE_LOOKS = 3
"""Looks at an idle worker. The quickest counts: a delayed one would hide work still going on."""
MOST_STEPS = 1000
"""After this many steps parameters are reloaded: small steps add up, and once the batches are
memorised, the work is different."""


class EvidenceCollector:
    """Collects the evidence from one process. None of this is timed, and none of it reveals to a
    worker which steps are timed.
    """

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
        self.renews = scenario.renews and feed_of(entry.case.data) == RESIDENT
        self.stream: Stream | None = None
        """Unpredictable data; until it begins, the first batches are used in turn."""
        self.optimizer = resolve(entry.case).optimizer
        self.steps = 0
        """Steps since parameters were loaded."""
        self.awaited = list(CHANGES_AT) if self.training else []
        """Steps after which changes will be looked at."""
        self.changes_seen = 0
        """The step count at which changes were last looked at."""
        self.builds = 0
        """How many times the case was prepared again."""
        self.aside = 0
        """The worker's CPU nanoseconds since the last block that were not spent on steps."""
        self.data = ""
        """Names the data of all steps since parameters were loaded; empty if they used the first
        batches in turn. Processes with equal names are compared.
        """
        self.batches = batches
        self.looks = 0
        """Looks after blocks."""
        self.warm = False
        self._held: list[events.Changes] = []

    def run(self, count: int, *, timeout: float | None = None) -> int:
        """Run steps outside of blocks; returns their nanoseconds. `timeout` limits each request.

        Steps during which mbench or the worker was stopped are run again. The first step cannot be:
        the time for which it was stopped is subtracted instead.
        """
        elapsed, tries = 0, TRIES
        while count:
            part = min(count, self.until_look() or count)
            if self.training and self.stream is not None:
                part = min(part, self.stream.at_once)
            if self.training:
                self.provide(part)
            known = absences(self.worker)
            nanoseconds = self.worker.run(part, timeout=timeout).nanoseconds[0]
            away = absences(self.worker)[len(known) :]
            first = not self.steps
            self.made(part)
            if away and not first and tries:  # their times include the pause
                tries -= 1
                continue
            elapsed += max(1, nanoseconds - round(1e9 * sum(one.seconds for one in away)))
            count -= part
        return elapsed

    def expect(self, steps: int) -> None:
        """Every case of the comparison is going to run `steps` steps: look at changes once more in
        the second half of them.
        """
        if self.training and self.stream is not None:
            late = self.stream.late(min(steps, MOST_STEPS))
            self.awaited = sorted({*self.awaited, *([late] if late > self.steps else [])})

    def until_look(self) -> int:
        """Steps until changes are next looked at; 0 if no look is left."""
        return self.awaited[0] - self.steps if self.awaited else 0

    def made(self, count: int) -> None:
        """Count steps, and look at the changes when they are due."""
        self.steps += count
        if self.awaited and self.steps == self.awaited[0]:
            del self.awaited[0]
            self.see_changes()

    def begin_recording(self) -> None:
        """The process has been recorded: evidence held back until now can be stored."""
        self.warm = True
        self.write()

    def refresh(self) -> None:
        """Reload parameters after many steps."""
        if self.training and self.steps >= MOST_STEPS:
            self.load()

    def load(self) -> None:
        """Reload parameters."""
        self.worker.ask(wire.Load(), wire.Loaded)
        self.steps = 0
        if self.stream is not None:
            self.awaited = self.stream.loaded()
            self.data = self.stream.name
        self.run(1)  # which allocates the optimizer's state

    def rebuilt(self) -> None:
        """The case was prepared again: its parameters and batches are the initial ones."""
        self.steps = 0
        self.stream, self.data = None, ""
        self.builds += 1

    def begin_data(self, draws: Draws) -> None:
        """The process is warm: from now on no batch is repeated. Parameters are reloaded, so that
        all processes have learnt the same after the same number of steps.
        """
        if self.renews:
            self.stream = Stream(
                draws, self.process, self.worker,
                updates=self.training, masks=self.training and draws_masks(self.entry.case),
                build=self.builds,
            )  # fmt: skip
            self.stream.begin(self.batches)
            if self.training:
                self.load()

    def begin_files(self) -> None:
        """From now on batches come from files. How far they move the parameters cannot be compared
        with resident batches, nor with another framework, which is at another point in the files.
        Looks still due after a short warm-up are dropped: filling a pipeline takes steps of its
        own.
        """
        if self.training:
            self.awaited = []
            self.load()
        self.data = f"files of {self.entry.label}, {self.process}, {self.builds}"

    def provide(self, count: int) -> None:
        """Data for a block of `count` steps, which the worker has not seen before."""
        if self.stream is None:
            return
        before = spent(self.worker)
        if self.training:
            self.stream.provide(self.steps, count)
        else:
            self.stream.provide_block(count)
        self.note(before, most=self.stream.most_placing(count))

    def note(self, before: int | None, *, most: int) -> None:
        """Add the worker's CPU time since `before`, but no more than `most`."""
        now = spent(self.worker)
        if before is not None and now is not None:
            self.aside += max(0, min(now - before, most))

    def approach(self, count: int, *, timeout: float | None = None) -> None:
        """Run untimed steps up to the next look at changes if a block would pass it; they are fewer
        than the block has, so its `timeout` is enough.

        After the last look, blocks end on each of the batches in turn: whatever their lengths, the
        same batches are looked at in all processes of all frameworks.
        """
        while 0 < self.until_look() < count:
            self.run(self.until_look(), timeout=timeout)
        if self.stream is None and not self.awaited:
            first = (self.looks + 1 - count) % self.batches
            self.worker.ask(wire.SelectBatch(batch=first), wire.BatchSelected)

    def discard(self, count: int) -> None:
        """Count steps of a block that is going to be measured again."""
        self.steps += count
        self.made(0)

    def see(self, of_block: events.OfBlock, *, steps: int, lead: int, waited: int) -> None:
        """Record the result of a block's last step; `waited` is how many nanoseconds the block and
        its lead-in took by the parent's clock.
        """
        used, begin = spent(self.worker), perf_counter_ns()
        seen = self.look()
        looked, by_then = perf_counter_ns() - begin, spent(self.worker)
        self.steps += lead + steps
        self.check(seen)
        self.looks += 1
        provided, self.aside = self.aside, 0
        earlier = self.earlier(seen, steps)
        recalled, self.aside = self.aside, 0
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
                earlier=earlier,
                provided=provided,
                recalled=recalled,
            )
        )
        self.made(0)

    def earlier(self, last: wire.Seen, steps: int) -> list[Earlier]:
        """Results of earlier steps of a block, chosen now that it is over."""
        if self.stream is None:
            return []
        back = self.stream.asked(last.step, steps)
        self.stream.blocks += 1
        if not back:
            return []
        before = spent(self.worker)
        found = self.worker.ask(wire.Look(back=back), wire.Seen).earlier
        self.note(before, most=round(len(back) * (RECALLED[0] + RECALLED[1] * last.read_bytes)))
        if [one.back for one in found] != back:
            raise Malformed("the worker did not report the results that it kept")
        return [
            Earlier(
                step=last.step - one.back,
                due=self.optimizer.carried(max(last.step - one.back - last.skipped, 0)),
                batch=one.batch,
                loss=one.loss,
                outputs=sketches(one.outputs),
            )
            for one in found
        ]

    def end(self) -> int:
        """Take a last look, which in training includes all changes. Returns the nanoseconds of an
        idle look.
        """
        idle = min(self.idle_look() for _ in range(IDLE_LOOKS))
        if self.training and self.steps != self.changes_seen:
            self.see_changes()
        return idle

    def idle_look(self) -> int:
        begin = perf_counter_ns()
        self.look()
        return perf_counter_ns() - begin

    def look(self, *, changes: bool = False) -> wire.Seen:
        """The first rank's report; raises Malformed if ranks differ in their steps, or in the
        `changes` of the model, or if the result of a collective is wrong on any of them.
        """
        of_ranks = self.worker.ask_all(wire.Look(changes=changes), wire.Seen)
        if self.in_ranks and (said := wrong_rank(self.entry.case, of_ranks)):
            raise Malformed(said)
        first, *others = of_ranks
        for rank, seen in enumerate(others, start=1):
            if (seen.step, seen.skipped, seen.batch) != (first.step, first.skipped, first.batch):
                raise Malformed(f"rank {rank} ran different steps from rank 0")
            if changes and (name := unlike(first.changes, seen.changes)):
                raise Malformed(
                    f"after {counted(seen.step, 'step')}, {name} differs between rank {rank} and "
                    "rank 0: they do not train the same model"
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
                data=self.data,
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
    """Nanoseconds of CPU time a worker has used so far; None if it is on other machines, or if this
    machine does not report it.
    """
    found = [clocked(pid) for pid in pids_here(worker)]
    known = [seconds for seconds in found if seconds is not None]
    return round(1e9 * sum(known)) if known and len(known) == len(worker.processes) else None


def sketches(found: Mapping[str, Sequence[float]]) -> dict[str, Sketch]:
    """Sketches in the stored type; those of another length could not be read back."""
    return {name: cast("Sketch", tuple(sketch)) for name, sketch in found.items()}


def unlike(one: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> str:
    """The first tensor whose change differs; empty if there is none.

    Ranks that add the same gradients in a different order differ by rounding.
    """
    if set(one) != set(other):
        return "the set of tensors"
    for name, sketch in one.items():
        size = max(map(abs, (*sketch, *other[name])), default=0.0)
        if any(abs(a - b) > APART * size for a, b in zip(sketch, other[name], strict=True)):
            return name
    return ""
