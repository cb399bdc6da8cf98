"""Takes evidence from a timed process: counts its steps, and looks at what they leave."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, cast

from mbench.console import counted
from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.proofs.collectives import wrong_rank
from mbench.results import events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.plugins.launcher import Worker
    from mbench.results.evidence import Sketch
    from mbench.results.store import RunWriter
    from mbench.spec.planning import Entry

__all__ = ["EvidenceCollector"]

CHANGES_AT = (4, 16)
"""Steps after which all processes' changes of parameters are looked at: two turns of all batches,
and a few steps, which the slowest cases reach too."""
APART = 1e-3
"""By which ranks' changes may differ, as a part of the largest number of a sketch."""
IDLE_LOOKS = 3
"""Of an idle worker. The quickest counts: one that other load delays would hide what steps left."""
MOST_STEPS = 1000
"""After so many, parameters are loaded anew: small steps add up, and a loss that is learnt by heart
is other work."""


class EvidenceCollector:
    """Everything here happens outside the clock; nothing of it tells a worker what is timed."""

    def __init__(
        self, entry: Entry, process: int, worker: Worker, store: RunWriter, *, batches: int
    ) -> None:
        self.entry = entry
        self.process = process
        self.worker = worker
        self.store = store
        self.training = entry.case.updates
        self.exchanges = entry.case.resolve().exchanges
        self.optimizer = entry.case.resolve().optimizer
        self.steps = 0
        """Since parameters were loaded."""
        self.awaited = list(CHANGES_AT) if self.training else []
        """Steps after which changes are still to be looked at."""
        self.changes_seen = 0
        """After so many steps, the last time."""
        self.batches = batches
        self.looks = 0
        """After blocks."""
        self.warm = False
        self._held: list[events.Changes] = []

    def run(self, count: int) -> int:
        """Let the worker make steps that no block holds; gives their nanoseconds."""
        elapsed = 0
        while count:
            part = min(count, self.left() or count)
            elapsed += self.worker.run(part).nanoseconds[0]
            self.made(part)
            count -= part
        return elapsed

    def left(self) -> int:
        """Steps up to where changes are looked at next; 0 where they are no more."""
        return self.awaited[0] - self.steps if self.awaited else 0

    def made(self, count: int) -> None:
        """Take note of steps; after some numbers of them, once, their changes are looked at."""
        self.steps += count
        if self.awaited and self.steps == self.awaited[0]:
            del self.awaited[0]
            self.see_changes()

    def began(self) -> None:
        """The process is written down: what was seen before may follow."""
        self.warm = True
        self.tell()

    def refresh(self) -> None:
        """Load parameters anew where many steps were made with them."""
        if self.training and self.steps >= MOST_STEPS:
            self.worker.ask(wire.Load(), wire.Loaded)
            self.steps = 0
            self.run(1)  # which makes what an optimizer makes in its first step

    def anew(self) -> None:
        """The case was prepared once more: its parameters are those of the beginning."""
        self.steps = 0

    def approach(self, count: int) -> None:
        """Make untimed steps up to where changes are looked at, if a block would pass that.

        Then let blocks end on each of the batches in turn: whatever their lengths, the same batches
        are looked at in all processes of all frameworks.
        """
        while 0 < self.left() < count:
            self.run(self.left())
        if not self.awaited:
            first = (self.looks + 1 - count) % self.batches
            self.worker.ask(wire.Turn(batch=first), wire.Turned)

    def see(self, of_block: events.OfBlock, *, steps: int, lead: int, waited: int) -> None:
        """Write down what a block's last step left; `waited` is the parent's time for the block
        with the steps that lead it.
        """
        begin = perf_counter_ns()
        seen = self.look()
        looked = perf_counter_ns() - begin
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
                lead=lead,
            )
        )
        self.made(0)

    def end(self) -> int:
        """Look once more: at all changes in training; gives how long an idle look takes."""
        idle = min(self.idle_look() for _ in range(IDLE_LOOKS))
        if self.training and self.steps != self.changes_seen:
            self.see_changes()
        return idle

    def idle_look(self) -> int:
        begin = perf_counter_ns()
        self.look()
        return perf_counter_ns() - begin

    def look(self, *, changes: bool = False) -> wire.Seen:
        """What the first rank tells; raises Malformed where another has another model."""
        of_ranks = self.worker.ask_all(wire.Look(changes=changes), wire.Seen)
        if self.exchanges and (said := wrong_rank(self.entry.case, of_ranks)):
            raise Malformed(said)
        first, *others = of_ranks
        for rank, seen in enumerate(others, start=1):
            if (seen.step, seen.skipped, seen.batch) != (first.step, first.skipped, first.batch):
                raise Malformed(f"rank {rank} made other steps than rank 0")
            if changes and (name := unlike(first.changes, seen.changes)):
                raise Malformed(
                    f"after {counted(seen.step, 'step')}, {name} is not the same on rank {rank} as "
                    "on rank 0: they do not train one model"
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
            self.tell()

    def check(self, seen: wire.Seen) -> None:
        """Raises Malformed where the worker counts otherwise than we do."""
        if seen.step != self.steps:
            raise Malformed(
                f"the worker made {counted(seen.step, 'step')} where {self.steps} were asked for"
            )
        if not 0 <= seen.skipped <= seen.step:
            raise Malformed(f"the worker skipped {seen.skipped} of {counted(seen.step, 'step')}")

    def tell(self) -> None:
        while self._held:
            self.store.append(self._held.pop(0))


def sketches(told: Mapping[str, Sequence[float]]) -> dict[str, Sketch]:
    """As they are kept; of another length they could not be read back."""
    return {name: cast("Sketch", tuple(sketch)) for name, sketch in told.items()}


def unlike(one: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]]) -> str:
    """The first tensor whose change differs; empty where none does.

    Ranks that add the same gradients in another order differ by their rounding.
    """
    if set(one) != set(other):
        return "a set of tensors"
    for name, sketch in one.items():
        size = max(map(abs, (*sketch, *other[name])), default=0.0)
        if any(abs(a - b) > APART * size for a, b in zip(sketch, other[name], strict=True)):
            return name
    return ""
