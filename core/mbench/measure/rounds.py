"""The adaptive protocol: interleaved rounds of warm workers, with fresh ones in each repetition."""

from __future__ import annotations

import random
from concurrent.futures import wait
from contextlib import ExitStack
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, TypeVar

from mbench.console import counted
from mbench.engine.jobs import thread_pool
from mbench.engine.outcome import CaseEnded
from mbench.engine.watching import paces, undisturbed
from mbench.machine.absence import awake
from mbench.measure.activity import (
    BlockBegan,
    BlockEnded,
    Decision,
    MeasuringBegan,
    PhaseBegan,
    ProcessBegan,
)
from mbench.measure.feeding import Feeder, Samples, reads_files, samples_of
from mbench.measure.measurement import Measurement, Runner
from mbench.measure.parts import time_parts
from mbench.measure.resume import first_missing
from mbench.measure.stopping import exceeded, reason_to_stop, too_small, widths, worthwhile_rounds
from mbench.measure.warmup import warm_up
from mbench.results import events
from mbench.results.changes import BEGUN
from mbench.results.figures import rates
from mbench.scenarios.find import scenario_of
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from mbench.environments.environment import Environment
    from mbench.measure.run_context import RunContext
    from mbench.measure.stopping import Rates
    from mbench.measure.warmup import Warmup
    from mbench.spec.planning import Comparison, Entry

__all__ = ["Interleaved", "next_order"]


WARMUP_BLOCKS = 4  # at least; by default, this is one second
MOST_SINGLE = 1000
"""The most steps timed individually in a round: enough for percentiles."""


class Interleaved(Measurement[Adaptive]):
    """All cases of a comparison side by side, one running at a time."""

    def __init__(
        self, comparison: Comparison, environments: Mapping[str, Environment], context: RunContext
    ) -> None:
        super().__init__(comparison, environments, context)
        self.look = context.look
        self.random = random.Random(f"{self.protocol.seed}/{comparison.number}")
        self.samples: Samples | None = None
        """The samples that input pipelines are given if batches come from files."""
        self.last: Runner | None = None
        """The runner of the latest time slice."""
        self.rates: Rates = {}
        self.repetition_seconds: list[float] = []
        """Seconds of each repetition."""
        self.least_seconds = 0.0
        """How long the last repetition would have taken with the fewest rounds."""
        self.cut_short = False
        self.first = first_missing(self.earlier, self.entries)
        self.before = self.first if comparison.number in context.further else 0
        """Earlier sets, which the budget does not cover."""
        if self.earlier is not None:
            for entry in self.entries:
                if case := self.earlier.cases.get(entry.number):
                    if case.calibration:
                        self.calibrated[entry.number] = case.calibration.ratios
                    of_case = rates(case)
                    self.rates[entry.number] = {
                        process: of_case[process] for process in of_case if process < self.first
                    }

    def run(self) -> None:
        """Run all repetitions, record why they stopped, and drop failed cases with an outcome."""
        self.begin = awake()
        goal = self.protocol.half_width_goal
        self.listener.hear(
            MeasuringBegan(
                self.protocol.processes if goal is None else None,
                self.protocol.budget_seconds,
                self.protocol.fewest_processes,
            )
        )
        process = self.first
        while not (reason := self.enough(process)):
            self.measure_repetition(process, deadline=self.begin + self.protocol.budget_seconds)
            process += 1
        if self.before and self.protocol.half_width_goal is None:
            asked = self.store.run.protocol.processes
            if process < asked:
                reason = reason.replace("all processes", f"{process} of {asked} processes", 1)
        reason = exceeded(
            self.protocol, reason,
            elapsed_seconds=awake() - self.begin, cut_short=self.cut_short,
        )  # fmt: skip
        self.store.append(
            events.ComparisonEnd(
                comparison=self.comparison.number,
                reason=reason,
                set_seconds=fmean(self.repetition_seconds) if self.repetition_seconds else None,
            )
        )

    def enough(self, measured: int) -> str:
        """Why no repetition follows after `measured` of them; empty if one does."""
        if not self.entries:
            return "no case left to measure"
        seen: list[float | None] = []
        if self.protocol.half_width_goal is not None:
            cases = [entry.number for entry in self.entries]
            seen = widths(self.rates, cases=cases, sets=measured, calibrated=self.calibrated)
        return reason_to_stop(
            self.protocol,
            measured=measured,
            elapsed_seconds=awake() - self.begin,
            least_seconds=self.least_seconds,
            widths=seen,
        )

    def measure_repetition(self, process: int, *, deadline: float) -> None:
        """Start, warm up and time one fresh worker per entry; they end with the repetition."""
        begin = awake()
        self.listener.hear(ProcessBegan(process + 1))
        self.look()

        with ExitStack() as stack:
            runners = self.start_all(process, stack)
            if not runners:
                return
            self.begin_data(runners)
            self.begin_feeding(runners, process)
            if self.device_memory is not None:
                self.wake_device(runners)
            if not runners:
                return
            setup = awake() - begin
            setup += (self.protocol.builds - 1) * sum(runner.build_seconds for runner in runners)
            per_round = self.round_seconds(runners)
            rounds = self.protocol.rounds_for(
                share_seconds=self.protocol.share_seconds(
                    measured=process, elapsed_seconds=begin - self.begin, before=self.before
                ),
                setup_seconds=setup,
                round_seconds=per_round,
                paying=self.worthwhile_rounds(setup_seconds=setup, round_seconds=per_round),
            )
            self.listener.hear(
                Decision(
                    f"process {process + 1}: {counted(rounds, 'round')} of {per_round:.2g} s, as "
                    f"setting it up took {setup:.1f} s "
                    f"and the budget is {self.protocol.budget_seconds:g} s"
                )
            )
            least = min(runner.steps_in(self.protocol.block_seconds) for runner in runners)
            for runner in runners:
                runner.evidence.expect(BEGUN + rounds // self.protocol.builds * least)
            begins = {build * rounds // self.protocol.builds
                      for build in range(1, self.protocol.builds)}  # fmt: skip
            for round_number in range(rounds):
                late = awake() + per_round > deadline
                if late and round_number >= self.protocol.fewest_rounds:
                    self.cut_short = True
                    break
                if round_number and round_number in begins:
                    self.rebuild(runners, process, round_number)
                self.measure_round(runners, process, round_number, rounds)
            for runner in runners:
                with self.guard(runner.entry):
                    self.finish(runner, process)
            measured = awake()
            self.find_rounding([runner for runner in runners if runner.entry in self.entries])
            for runner in runners:
                self.find_ceiling(runner)
            aside = awake() - measured  # is not part of the budget
            begin, self.begin = begin + aside, self.begin + aside
        self.repetition_seconds.append(awake() - begin)
        fewest = self.protocol.rounds or min(self.protocol.fewest_rounds, rounds)
        self.least_seconds = setup + fewest * per_round

    def start_all(self, process: int, stack: ExitStack) -> list[Runner]:
        """A stopped, warm worker for each entry; none if the budget proves too small.

        Frameworks are imported in parallel. Each prepares its case and warms up alone.
        """
        runners: list[Runner] = []
        order = self.random.sample(self.entries, len(self.entries))
        for entry in order:
            self.listener.hear(PhaseBegan(entry.label, f"starting, process {process + 1}"))
        jobs = stack.enter_context(
            thread_pool(len(order))
        )  # a worker ends with the thread that started it
        launching = [
            jobs.once(entry.label, partial(self.launched, entry, process, stack)) for entry in order
        ]
        wait(launching)
        for entry, launched in zip(order, launching, strict=True):
            with self.guard(entry):
                runner = self.start(entry, process, launched.result(), warm_up=self.warm)
                runner.worker.stop()
                runners.append(runner)
            if not process and self.too_slow(runners):
                return []
        return runners

    def warm(self, run: Callable[[int], int]) -> Warmup:
        return warm_up(
            run,
            shortest_seconds=WARMUP_BLOCKS * self.protocol.block_seconds,
            longest_seconds=self.protocol.longest_warmup_seconds,
        )

    def begin_data(self, runners: list[Runner]) -> None:
        """From now on, data is drawn when steps need it."""
        seconds = self.protocol.block_seconds
        self.draws.expect([runner.steps_in(seconds) for runner in runners])
        for runner in self.random.sample(runners, len(runners)):
            with self.guard(runner.entry):
                runner.worker.resume()
                runner.evidence.begin_data(self.draws)
                runner.worker.stop()
        runners[:] = [runner for runner in runners if runner.entry in self.entries]

    def begin_feeding(self, runners: list[Runner], process: int) -> None:
        """From now on, batches come from files in cases that read them; step times include that."""
        if not reads_files(self.case):
            return
        for runner in self.random.sample(runners, len(runners)):
            with self.guard(runner.entry):
                self.listener.hear(PhaseBegan(runner.entry.label, "filling its input pipeline"))
                if self.samples is None:
                    self.samples = samples_of(runner.entry.case)
                runner.feeder = Feeder(
                    self.samples, runner.entry, runner.worker, runner.evidence, process=process,
                    depth=runner.depth, resident_seconds=runner.step_seconds,
                )  # fmt: skip
                runner.worker.resume()
                runner.evidence.begin_files()
                runner.step_seconds = runner.feeder.settle(self.protocol.block_seconds)
                runner.worker.stop()
        runners[:] = [runner for runner in runners if runner.entry in self.entries]

    def wake_device(self, runners: list[Runner]) -> None:
        """Run an untimed time slice of each worker: a device that was idle while others started
        begins at a lower clock rate.
        """
        for runner in self.random.sample(runners, len(runners)):
            with self.guard(runner.entry):
                self.listener.hear(PhaseBegan(runner.entry.label, "waking the device"))
                runner.worker.resume()
                runner.evidence.run(runner.steps_in(self.protocol.block_seconds))
                runner.worker.stop()
        runners[:] = [runner for runner in runners if runner.entry in self.entries]

    def rebuild(self, runners: list[Runner], process: int, round_number: int) -> None:
        """Let every worker prepare its case again, which varies its memory layout.

        Blocks keep their number of steps, so that all rounds of a process have equal weight.
        """
        for runner in self.random.sample(runners, len(runners)):
            with self.guard(runner.entry):
                self.listener.hear(PhaseBegan(runner.entry.label, "preparing again"))
                runner.worker.resume()
                prepared = runner.worker.prepare(runner.entry.case)
                runner.evidence.rebuilt()
                warm = self.warm(runner.evidence.run)
                runner.evidence.begin_data(self.draws)
                if runner.feeder:
                    runner.evidence.begin_files()
                self.store.append(
                    events.Build(
                        case=runner.entry.number,
                        process=process,
                        round=round_number,
                        prepare_seconds=prepared.seconds,
                        first_step_nanoseconds=warm.first_step_nanoseconds,
                        warmup_blocks=warm.blocks,
                    )
                )
                runner.worker.stop()
        runners[:] = [runner for runner in runners if runner.entry in self.entries]

    def worthwhile_rounds(self, **seconds: float) -> float | None:
        """How many rounds are worthwhile, if known and if a width is the goal.

        With a given number of processes there is no choice: rounds fill the budget.
        """
        if self.protocol.half_width_goal is None or not self.entries:
            return None
        return worthwhile_rounds(self.rates, cases=[e.number for e in self.entries], **seconds)

    def too_slow(self, runners: list[Runner]) -> bool:
        """Whether not even one round of the first repetition fits the budget; then no case is
        measured.

        This is estimated from the workers that are warm by now.
        """
        reason = too_small(
            self.protocol,
            workers=len(self.entries),
            warm=len(runners),
            elapsed_seconds=awake() - self.begin,
            round_seconds=self.round_seconds(runners),
        )
        if reason:
            for entry in list(self.entries):
                self.end(entry, CaseEnded("timeout", reason))
        return bool(reason)

    def measure_round(
        self, runners: list[Runner], process: int, round_number: int, rounds: int
    ) -> None:
        """Run one time slice of every worker, in a new order; all others are stopped meanwhile."""
        for runner in next_order(runners, last=self.last, chance=self.random):
            self.last = runner
            seconds = self.round_seconds([runner])
            began = BlockBegan(runner.entry.label, "round", round_number, rounds, seconds)
            self.listener.hear(began)
            with self.guard(runner.entry), self.listener.quiet():
                self.time_slice(runner, process, round_number)
            if runner.entry not in self.entries:
                runners.remove(runner)

    def time_slice(self, runner: Runner, process: int, round_number: int) -> None:
        """Time one block, and in inference as many single steps, for percentiles."""
        entry, steps = runner.entry, self.draws.steps(runner.steps_in(self.protocol.block_seconds))
        before = undisturbed(runner.worker, lambda: paces(runner.worker, self.sampler))
        runner.worker.resume()
        runner.evidence.refresh()
        if lead := self.lead_in_steps(runner):
            runner.evidence.run(lead)
        rate = self.block(runner, process, round_number, steps=steps, paces=before)
        self.rates.setdefault(entry.number, {}).setdefault(process, {})[round_number] = rate
        self.listener.hear(BlockEnded(entry.label, rate))
        if self.times_single_steps(entry):
            # A step that is synchronised may take far longer than its share of a block.
            alone = runner.evidence.run(1) / 1e9
            most = max(1, round(2 * self.protocol.block_seconds / alone))
            singles = min(steps, most, MOST_SINGLE)
            self.block(runner, process, round_number, steps=singles, each=True)
        if runner.feeder and not runner.feeder.only:
            time_parts(
                runner, runner.feeder, self.store, self.sampler, self.random,
                seconds=self.protocol.block_seconds, round_number=round_number,
            )  # fmt: skip
        runner.worker.stop()

    def lead_in_steps(self, runner: Runner) -> int:
        """Lead-in steps: at least one on a device, since its energy counter lags."""
        steps = round(self.protocol.lead_seconds / runner.step_seconds)
        return max(1, steps) if self.device_memory is not None else steps

    def times_single_steps(self, entry: Entry) -> bool:
        return scenario_of(entry.case).step_by_step or self.protocol.single_steps

    def round_seconds(self, runners: list[Runner]) -> float:
        """Expected seconds of one time slice of each runner."""
        seconds = 0.0
        for runner in runners:
            steps = runner.steps_in(self.protocol.block_seconds)
            steps *= 2 if self.times_single_steps(runner.entry) else 1
            if runner.feeder:  # also its parts, and filling and emptying the pipeline
                steps += 2 * runner.steps_in(self.protocol.block_seconds) + 4 * runner.feeder.lead
            seconds += (steps + self.lead_in_steps(runner)) * runner.step_seconds
        return seconds


T = TypeVar("T")


def next_order(ones: Sequence[T], *, last: T | None, chance: Random) -> list[T]:
    """A random order of `ones` that does not begin with `last`.

    So no runner has two time slices in a row: the second would be further from the others, with
    which it is compared, and would probably find its data in the caches. Two runners alternate.
    """
    order = chance.sample(ones, len(ones))
    while len(order) > 1 and order[0] is last:
        order = chance.sample(ones, len(ones))
    return order
