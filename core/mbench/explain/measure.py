"""Measures a step and its parts in the same processes: in each set, one process per framework."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from mbench.engine.jobs import thread_pool
from mbench.engine.memory import device_memory_of
from mbench.measure.activity import ComparisonBegan, RunPlanned
from mbench.measure.execute import announce, environments_for
from mbench.measure.rounds import Interleaved
from mbench.results import events
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.engine.outcome import CaseEnded
    from mbench.environments.environment import Environment
    from mbench.explain.plan import Plan
    from mbench.measure.measurement import Launched, Runner
    from mbench.measure.run_context import RunContext
    from mbench.spec.planning import Comparison, Entry

__all__ = ["measure_breakdown"]

Launch: TypeAlias = "Callable[[ExitStack], Launched]"


def measure_breakdown(
    plan: Plan, comparisons: Sequence[Comparison], context: RunContext, /
) -> None:
    """Measure `comparisons`, which are those of `plan` as a run that is resumed has them."""
    if context.earlier is None or not context.earlier.comparisons:
        context.store.append(plan.event)
    missing = announce(comparisons, context)
    if not missing:
        return
    context = replace(
        context, device_memory=device_memory_of(missing[0].entries[0].case, context.launcher)
    )
    protocol = context.protocol
    assert isinstance(protocol, Adaptive)  # see check_protocol
    context.listener.hear(RunPlanned(tuple(seconds_of_parts(protocol, len(missing)))))
    found = environments_for([entry for each in missing for entry in each.entries], context)
    parts = [SharedProcesses(each, by_label(each, found), context) for each in missing]
    processes, seconds = measure_sets(parts, protocol)
    reason = (
        "all processes measured"
        if processes >= protocol.processes
        else f"budget of {protocol.budget_seconds:g} s spent"
    )
    for part in parts:
        end = events.ComparisonEnd(
            comparison=part.comparison.number,
            reason=reason if part.entries else "no case left to measure",
            set_seconds=seconds,
        )
        context.store.append(end)


def seconds_of_parts(protocol: Adaptive, parts: int) -> list[float]:
    """How long each part of each set may take: all of them share one budget."""
    count = protocol.processes * parts
    return [protocol.budget_seconds / count] * count


def by_label(
    comparison: Comparison, environments: Mapping[int, Environment]
) -> dict[str, Environment]:
    return {entry.label: environments[entry.number] for entry in comparison.entries
            if entry.number in environments}  # fmt: skip


def measure_sets(parts: Sequence[SharedProcesses], protocol: Adaptive) -> tuple[int, float | None]:
    """Measure sets until there are enough, or another one would not fit the budget.

    Returns how many there are, and the mean seconds of those that were made here.
    """
    order = random.Random(f"{protocol.seed}/breakdown")
    begin = time.monotonic()
    first = min((part.first for part in parts if part.entries), default=protocol.processes)
    process, seconds = first, None
    while process < protocol.processes:
        with ExitStack() as stack:
            pool = WorkerPool(stack, most=max(len(part.entries) for part in parts))
            for part in order.sample(parts, len(parts)):
                part.measure_part(pool, process)
        process += 1
        elapsed = time.monotonic() - begin
        seconds = elapsed / (process - first)
        if elapsed + seconds > protocol.budget_seconds:
            break
    return process, seconds


class WorkerPool:
    """The workers of one set: each framework's is launched once, and again if it was lost."""

    def __init__(self, stack: ExitStack, *, most: int) -> None:
        self.stack = stack
        self.jobs = stack.enter_context(thread_pool(most))  # a worker ends with the thread it is of
        self.lost: Counter[str] = Counter()

    def get(self, label: str, launch: Launch) -> Launched:
        """The worker of the framework `label`; raises CaseEnded where it does not start."""
        return self.jobs.once(f"{label}/{self.lost[label]}", partial(launch, self.stack)).result()


class SharedProcesses(Interleaved):
    """The measurement of one part, by workers that live until the end of the set."""

    pool: WorkerPool

    def measure_part(self, pool: WorkerPool, process: int) -> None:
        """This part's share of a set."""
        self.pool = pool
        self.begin = time.monotonic()
        if self.entries:
            labels = tuple(entry.label for entry in self.entries)
            self.listener.hear(ComparisonBegan(self.comparison.title, labels))
            self.measure_repetition(process, deadline=float("inf"))

    def launched(self, entry: Entry, process: int, stack: ExitStack) -> Launched:
        launch = super().launched
        return self.pool.get(entry.label, lambda stack: launch(entry, process, stack))

    def finish(self, runner: Runner, process: int) -> None:
        """Without the memory used, which is that of all parts that the process has measured."""
        runner.worker.resume()
        idle = runner.evidence.end()
        self.store.append(
            events.Memory(
                case=runner.entry.number, process=process, peak_bytes=None, idle_look=idle
            )
        )
        runner.worker.stop()

    def end(self, entry: Entry, end: CaseEnded) -> None:
        super().end(entry, end)
        self.pool.lost[entry.label] += 1
