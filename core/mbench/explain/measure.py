"""Measures comparisons in the same processes: in a set, each framework's one does all in turn."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from mbench.engine.jobs import together
from mbench.measure.activity import ComparisonBegan
from mbench.measure.rounds import Interleaved
from mbench.results import events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.engine.outcome import CaseEnded
    from mbench.environments.environment import Environment
    from mbench.measure.measurement import Launched, Runner
    from mbench.measure.run_context import RunContext
    from mbench.spec.planning import Comparison, Entry

__all__ = ["measure_in_turn"]


def measure_in_turn(
    comparisons: Sequence[Comparison],
    environments: Mapping[int, Mapping[str, Environment]],
    bench: RunContext,
) -> None:
    """All sets of all comparisons; `environments` are by number, then as for one measurement."""
    protocol = bench.protocol
    made = [Shared(each, environments[each.number], bench) for each in comparisons]
    order = random.Random(f"{protocol.seed}/apart")
    begin = time.monotonic()
    first = min((one.first for one in made if one.entries), default=protocol.processes)
    seconds, process, reason = 0.0, first, ""
    while process < protocol.processes and not reason:
        with ExitStack() as stack:
            pool = Pool(stack, most=max(len(each.entries) for each in comparisons))
            for one in order.sample(made, len(made)):
                one.measure_with(pool, process)
        process += 1
        seconds = time.monotonic() - begin
        if seconds + seconds / (process - first) > made[0].protocol.budget_seconds:
            reason = f"budget of {made[0].protocol.budget_seconds:g} s spent"
    if process >= protocol.processes:
        reason = "all processes measured"
    for one in made:
        bench.store.append(
            events.ComparisonEnd(
                comparison=one.comparison.number,
                reason=reason if one.entries else "no case left to measure",
                set_seconds=seconds / (process - first) if process > first else None,
            )
        )


class Pool:
    """The workers of one set: a framework's is launched once, and again where it was lost."""

    def __init__(self, stack: ExitStack, *, most: int) -> None:
        self.stack = stack
        self.jobs = stack.enter_context(together(most))  # a worker ends with the thread it is of
        self.lost: Counter[str] = Counter()

    def of(self, label: str, launch: Callable[[ExitStack], Launched]) -> Launched:
        """Raises CaseEnded where it does not start."""
        return self.jobs.once(f"{label}/{self.lost[label]}", partial(launch, self.stack)).result()


class Shared(Interleaved):
    """One of the comparisons. Its workers are the pool's, and outlive its part of a set."""

    pool: Pool

    def measure_with(self, pool: Pool, process: int) -> None:
        self.pool = pool
        self.begin = time.monotonic()
        if self.entries:
            labels = tuple(entry.label for entry in self.entries)
            self.listener.hear(ComparisonBegan(self.comparison.title, labels))
            self.measure_set(process, deadline=float("inf"))

    def launched(self, entry: Entry, process: int, stack: ExitStack) -> Launched:
        launch = super().launched
        return self.pool.of(entry.label, lambda stack: launch(entry, process, stack))

    def finish(self, runner: Runner, process: int) -> None:
        """The memory of a process is that of all its cases: none of them is told as its own."""
        runner.worker.resume()
        idle = runner.witness.end()
        self.store.append(
            events.Memory(
                case=runner.entry.number, process=process, peak_bytes=None, idle_look=idle
            )
        )
        runner.worker.stop()

    def end(self, entry: Entry, end: CaseEnded) -> None:
        super().end(entry, end)
        self.pool.lost[entry.label] += 1
