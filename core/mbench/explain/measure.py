"""Measures a step and its parts in the same processes: in each set, one process per framework."""

from __future__ import annotations

import math
import random
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from mbench.console import counted, span
from mbench.contract.forms import PARTLY
from mbench.engine.jobs import thread_pool
from mbench.engine.memory import device_memory_of
from mbench.engine.outcome import CaseEnded
from mbench.explain.analysis import load
from mbench.explain.plan import FEWEST_SETS, is_check, is_operator
from mbench.explain.price import Price
from mbench.explain.ranking import ranked_parts
from mbench.machine.absence import awake
from mbench.measure import facts
from mbench.measure.activity import ComparisonBegan, Notice, RunPlanned
from mbench.measure.execute import announce, environments_for
from mbench.measure.resume import is_done
from mbench.measure.rounds import Interleaved
from mbench.results import events
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mbench.environments.environment import Environment
    from mbench.explain.plan import Part, Plan
    from mbench.measure.measurement import Launched, Runner
    from mbench.measure.run_context import RunContext
    from mbench.spec.planning import Comparison, Entry

__all__ = ["measure_breakdown"]

Launch: TypeAlias = "Callable[[ExitStack], Launched]"


COARSE_SHARE = 0.7
"""Share of the budget after which the step, its phases and its stages get no more than three sets,
if operators are still to come."""
BATCH = 4
"""Parts that are proven in parallel before the remaining budget is checked again."""


def measure_breakdown(plan: Plan, comparisons: Sequence[Comparison], bench: RunContext, /) -> None:
    """Measure `comparisons`, which are those of `plan` as a resumed run has them.

    First come the step, its phases and its stages, then as many operators as the budget allows,
    each in at least three sets of processes.
    """
    if bench.earlier is None or not bench.earlier.comparisons:
        bench.store.append(plan.event)
    if all(bench.earlier and is_done(bench.earlier, one) for one in comparisons):
        return
    memory = device_memory_of(plan.whole.entries[0].case, bench.launcher)
    parts = {part.comparison.number: part for part in plan.parts}
    Breakdown(replace(bench, device_memory=memory), parts).measure(comparisons)


class Breakdown:
    """The measurement of a step and its parts."""

    def __init__(self, bench: RunContext, parts: Mapping[int, Part]) -> None:
        """`parts` are those of the plan, by the numbers of their comparisons."""
        assert isinstance(bench.protocol, Adaptive)  # see check_protocol
        self.bench, self.protocol, self.parts = bench, bench.protocol, parts
        self.order = random.Random(f"{self.protocol.seed}/breakdown")
        processes = [at for case in bench.store.run.cases.values() for at in case.processes]
        self.next = max(processes, default=-1) + 1
        """The number of the next set of processes."""
        self.begin = 0.0
        self.began = 0
        """Number of measurements begun, each of one part in one set."""
        self.price = Price(bench)

    @property
    def left(self) -> float:
        """Seconds left in the budget."""
        return self.protocol.budget_seconds - (awake() - self.begin)

    def notice(self, text: str) -> None:
        self.bench.listener.hear(Notice(text))

    def measure(self, comparisons: Sequence[Comparison]) -> None:
        coarse = [one for one in comparisons if not is_operator(one) and not is_check(one)]
        empty, *operators = [one for one in comparisons if is_operator(one)]
        earlier = self.bench.earlier
        fine = [
            one for one in (*operators, *filter(is_check, comparisons))
            if not (earlier and is_done(earlier, one))
        ]  # fmt: skip
        self.notice(self.price.foretold(coarse, fine))
        self.begin = awake()
        parts = self.prepared(coarse)
        made = complete_sets(self.bench, parts)
        if not self.measure_coarse(parts, made, more=bool(fine)):
            return
        if fine and len(parts[0].entries) > 1:
            self.measure_fine(parts, empty, fine)
        self.end([parts[0]], "all processes measured")

    @property
    def budget(self) -> str:
        return f"the budget of {span(self.protocol.budget_seconds)}"

    def prepared(self, comparisons: Sequence[Comparison]) -> list[SharedProcesses]:
        """The comparisons, recorded with their environments and proven."""
        announce(comparisons, self.bench)
        entries = [entry for each in comparisons for entry in each.entries]
        found = environments_for(entries, self.bench)
        return [SharedProcesses(each, by_label(each, found), self.bench) for each in comparisons]

    def measure_coarse(self, parts: Sequence[SharedProcesses], made: int, *, more: bool) -> bool:
        """Measure the step, its phases and stages; False if three sets do not fit the budget."""
        whole, *others = parts
        earlier = self.bench.earlier
        if (
            earlier
            and made >= FEWEST_SETS
            and all(is_done(earlier, part.comparison) for part in others)
        ):
            return True
        share = COARSE_SHARE if more else 1.0
        count = len(parts) * max(0, self.protocol.processes - made)
        self.plan_progress([share * self.protocol.budget_seconds / max(1, count)] * count)
        seconds: float | None = None
        while made < self.protocol.processes and whole.entries:
            begin = awake()
            with ExitStack() as stack:
                pool = WorkerPool(stack, most=max(len(part.entries) for part in parts))
                first = not self.price.part_seconds
                self.measure_part(whole, pool)
                if first:
                    self.price.launch_seconds = pool.seconds
                    self.price.part_seconds = awake() - begin - pool.seconds
                    if made == 0 and not self.fits(parts):
                        return False
                for part in self.order.sample(others, len(others)):
                    self.measure_part(part, pool)
            self.next += 1
            made += 1
            seconds = awake() - begin
            spent = self.protocol.budget_seconds - self.left
            enough = spent + seconds > share * self.protocol.budget_seconds
            if made >= FEWEST_SETS and enough:
                break
        reason = "all processes measured"
        if made < self.protocol.processes:
            reason = f"{made} sets fit {self.budget}"
        self.end(others, reason, seconds)
        return True

    def fits(self, parts: Sequence[SharedProcesses]) -> bool:
        """Whether three sets fit the budget, judging by the whole step's time; reports the plan, or
        ends all cases.
        """
        price = self.price.set_seconds([part.comparison for part in parts])
        needed = FEWEST_SETS * price
        if needed <= self.protocol.budget_seconds:
            sets = min(self.protocol.processes, max(FEWEST_SETS, int(self.left // price)))
            self.notice(
                f"a set of processes takes about {span(price)}, so {FEWEST_SETS} take about "
                f"{span(needed)}; there is time for {sets}"
            )
            return True
        enough = 30 * math.ceil(1.2 * needed / 30)
        reason = (
            f"{self.budget} is too short for {FEWEST_SETS} sets of the step, its phases and its "
            f"stages, which take about {span(needed)}: give --budget {enough}"
        )
        end = CaseEnded("timeout", reason)
        whole, *others = parts
        for entry in list(whole.entries):
            whole.end(entry, end)
        for part in others:
            for entry in part.entries:
                self.bench.store.append(facts.outcome(entry, end))
            part.entries.clear()
        self.end(parts, reason)
        return False

    def measure_fine(
        self, coarse: Sequence[SharedProcesses], empty: Comparison, fine: Sequence[Comparison]
    ) -> None:
        """Measure the operators and checks that explain most, in the same processes as the step, an
        empty step, and the longer forms that are checked.
        """
        whole = coarse[0]
        twice = {part.comparison.entries[0].case.model: part for part in coarse}
        planned = [self.parts[one.number] for one in fine]
        ranked = ranked_parts(whole.comparison, planned, load(self.bench.store.folder))
        fixed = self.price.fixed_seconds(whole.comparison)
        base = self.price.launch_seconds + (self.price.part_seconds or fixed) + fixed
        chosen: list[SharedProcesses] = []
        first: list[Comparison] = [empty]
        price, proving = base, 0.0
        while ranked:
            batch: list[Comparison] = []
            for one in ranked[:BATCH]:
                more = self.price.part_seconds_of(one, whole.comparison)
                if FEWEST_SETS * (price + more) + proving > self.left:
                    break
                batch.append(one)
                price += more
            if not batch:
                break
            begin = awake()
            chosen += self.prepared([*first, *batch])
            proving = awake() - begin
            first, ranked = [], ranked[len(batch) :]
        if ranked:
            names = ", ".join(one.entries[0].case.model for one in ranked[:3])
            more_names = f" and {len(ranked) - 3} more" if len(ranked) > 3 else ""
            self.notice(
                f"no time in the budget for {names}{more_names}: "
                f"measure the rest with --resume {self.bench.store.id}"
            )
        if not chosen:
            return
        self.notice(
            f"now {counted(len(chosen) - 1, 'part')}, in at least {FEWEST_SETS} sets of processes, "
            f"about {span(FEWEST_SETS * price)}"
        )
        made, seconds = 0, 0.0
        self.plan_progress([self.left / (FEWEST_SETS * (1 + len(chosen)))] * FEWEST_SETS
                           * (1 + len(chosen)))  # fmt: skip
        known = [whole, *(twice[model] for one in chosen if (model := checked(one.comparison)))]
        while made < self.protocol.processes and whole.entries:
            begin = awake()
            parts = [*known, *chosen]
            with ExitStack() as stack:
                pool = WorkerPool(stack, most=max(len(part.entries) for part in parts))
                for part in self.order.sample(parts, len(parts)):
                    self.measure_part(part, pool)
            self.next += 1
            made += 1
            seconds = awake() - begin
            if made >= FEWEST_SETS and seconds > self.left:
                break
        reason = "all processes measured"
        if made < self.protocol.processes:
            reason = f"{made} sets fit {self.budget}"
        self.end(chosen[1:] if ranked else chosen, reason, seconds)

    def measure_part(self, part: SharedProcesses, pool: WorkerPool) -> None:
        self.began += bool(part.entries)
        part.measure_part(pool, self.next)

    def plan_progress(self, seconds: Sequence[float]) -> None:
        """Report how long the remaining parts will take, after those that are done."""
        self.bench.listener.hear(RunPlanned((*[0.0] * self.began, *seconds)))

    def end(
        self, parts: Sequence[SharedProcesses], reason: str, seconds: float | None = None
    ) -> None:
        """Record that these comparisons were measured to the end."""
        for part in parts:
            known = self.bench.store.run.comparisons.get(part.comparison.number)
            if known is not None and known.reason is None:
                end = events.ComparisonEnd(
                    comparison=part.comparison.number,
                    reason=reason if part.entries else "no case left to measure",
                    set_seconds=seconds,
                )
                self.bench.store.append(end)


def complete_sets(bench: RunContext, parts: Sequence[SharedProcesses]) -> int:
    """How many sets of processes a resumed run already has for all parts."""
    if bench.earlier is None:
        return 0
    found = [
        {at for at, process in record.processes.items() if process.idle_look is not None}
        for part in parts
        for entry in part.entries
        if (record := bench.earlier.cases.get(entry.number))
    ]
    return len(set.intersection(*found)) if found else 0


def checked(comparison: Comparison) -> str:
    """The model with a doubled stage that this comparison checks; empty if it checks none."""
    model = comparison.entries[0].case.model
    return model.rpartition(PARTLY)[0] if is_check(comparison) else ""


def by_label(
    comparison: Comparison, environments: Mapping[int, Environment]
) -> dict[str, Environment]:
    return {entry.label: environments[entry.number] for entry in comparison.entries
            if entry.number in environments}  # fmt: skip


class WorkerPool:
    """The workers of one set, one per framework: launched once, and again if it was lost."""

    def __init__(self, stack: ExitStack, *, most: int) -> None:
        self.stack = stack
        self.jobs = stack.enter_context(thread_pool(most))  # a worker ends with its thread
        self.lost: Counter[str] = Counter()
        self.seconds = 0.0
        """Time that launching took, with all frameworks in parallel."""

    def get(self, label: str, launch: Launch) -> Launched:
        """The worker of the framework `label`; raises CaseEnded if it does not start."""
        begin = awake()
        job = self.jobs.once(f"{label}/{self.lost[label]}", partial(launch, self.stack))
        found = job.result()
        self.seconds = max(self.seconds, awake() - begin)
        return found


class SharedProcesses(Interleaved):
    """The measurement of one part, with workers that live until the end of the set."""

    pool: WorkerPool

    def measure_part(self, pool: WorkerPool, process: int) -> None:
        """Measure this part in the set `process`."""
        self.pool = pool
        self.begin = awake()
        if self.entries:
            labels = tuple(entry.label for entry in self.entries)
            self.listener.hear(ComparisonBegan(self.comparison.title, labels))
            self.measure_repetition(process, deadline=float("inf"))

    def launched(self, entry: Entry, process: int, stack: ExitStack) -> Launched:
        launch = super().launched
        return self.pool.get(entry.label, lambda stack: launch(entry, process, stack))

    def times_single_steps(self, entry: Entry) -> bool:
        """Only if requested: no figure here needs them, and they would cost sets of processes."""
        return self.protocol.single_steps

    def finish(self, runner: Runner, process: int) -> None:
        """Omits the memory used, which covers all parts that the process has measured."""
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
