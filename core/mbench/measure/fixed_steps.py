"""Published protocols: a fixed number of steps, one case and one process at a time."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.measure.activity import BlockBegan, BlockEnded, MeasuringBegan, PhaseBegan, ProcessBegan
from mbench.measure.measurement import Measurement, Runner
from mbench.measure.resume import first_missing
from mbench.measure.warmup import Warmup
from mbench.results import events
from mbench.results.changes import BEGUN
from mbench.spec.fixed_steps import Counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.spec.planning import Entry

__all__ = ["Sequential", "warm_up"]

CHUNK_SECONDS = 1.0


class Sequential(Measurement[Counted]):
    """All processes of a case, then those of the next."""

    def run(self) -> None:
        """Run every process of every case; cases that fail are dropped, with their outcome."""
        self.listener.hear(MeasuringBegan(self.protocol.processes * len(self.entries), None))
        for at, entry in enumerate(list(self.entries)):
            first = first_missing(self.earlier, [entry])
            for process in range(first, self.protocol.processes):
                if entry in self.entries:
                    self.listener.hear(ProcessBegan(at * self.protocol.processes + process + 1))
                    with self.guard(entry):
                        self.run_process(entry, process)
        reason = "all processes measured" if self.entries else "no case left to measure"
        self.store.append(events.ComparisonEnd(comparison=self.comparison.number, reason=reason))

    def run_process(self, entry: Entry, process: int) -> None:
        """Run one fresh worker: its warm-up, all counted epochs, its memory."""

        def warm(run: Callable[[int], int]) -> Warmup:
            return warm_up(run, steps=self.protocol.steps_before)

        with ExitStack() as stack:
            self.listener.hear(PhaseBegan(entry.label, f"starting, process {process + 1}"))
            launched = self.launched(entry, process, stack)
            runner = self.start(entry, process, launched, warm_up=warm)
            self.draws.expect([self.protocol.steps], drawn=False)
            runner.evidence.begin_data(self.draws)
            runner.evidence.expect(BEGUN + self.protocol.counted_epochs * self.protocol.steps)
            for epoch in range(self.protocol.counted_epochs):
                self.epoch(runner, process, epoch)
            self.finish(runner, process)
            if len(self.comparison.entries) > 1 or self.protocol.processes > 1:
                self.find_rounding([runner], all_of_them=True)
            self.find_ceiling(runner)

    def epoch(self, runner: Runner, process: int, epoch: int) -> None:
        """Run steps up to the protocol's number or duration.

        A block of many steps is not split, so that nothing is synchronised within it. If every step
        is synchronised anyway, or a duration limits it, it is split to show progress.
        """
        protocol, left, seconds = self.protocol, self.protocol.steps, 0.0
        each = runner.entry.case.mode in protocol.step_by_step
        cut = each or protocol.duration_seconds is not None
        while left and (protocol.duration_seconds is None or seconds < protocol.duration_seconds):
            runner.evidence.refresh()
            steps = min(left, runner.steps_in(CHUNK_SECONDS)) if cut else left
            done, expected = protocol.steps - left, steps * runner.step_seconds
            began = BlockBegan(runner.entry.label, "step", done, protocol.steps, expected)
            self.listener.hear(began)
            with self.listener.quiet():
                rate = self.block(runner, process, epoch, steps=steps, each=each)
            self.listener.hear(BlockEnded(runner.entry.label, rate))
            left -= steps
            seconds += steps * runner.samples_per_step / rate


def warm_up(run: Callable[[int], int], *, steps: int) -> Warmup:
    """Warm up for `steps` steps, the first on its own, whether or not they become steady."""
    first = run(1)
    blocks: list[tuple[int, int]] = []
    left, count = steps - 1, 1
    while left:
        count = min(left, count)
        elapsed = run(count)
        blocks.append((count, elapsed))
        left -= count
        count = max(1, round(count * CHUNK_SECONDS * 1e9 / max(elapsed, 1)))
    reason = f"{counted(steps, 'step')}, by the protocol"
    return Warmup(first_step_nanoseconds=first, blocks=blocks, reason=reason)
