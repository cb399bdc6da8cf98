"""The adaptive protocol: fresh sets of workers, all warm, in interleaved rounds."""

from __future__ import annotations

import random
import time
from concurrent.futures import wait
from contextlib import ExitStack
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.engine.jobs import together
from mbench.engine.outcome import CaseEnded
from mbench.engine.watching import paces
from mbench.measure.activity import (
    BlockBegan,
    BlockEnded,
    Decision,
    MeasuringBegan,
    PhaseBegan,
    ProcessBegan,
)
from mbench.measure.measurement import Measurement, Runner
from mbench.measure.order import next_round
from mbench.measure.resume import first_missing
from mbench.measure.sample_allocation import rounds_that_pay
from mbench.measure.stopping import reason_to_stop, too_small, widths
from mbench.measure.warmup import warm_up
from mbench.results import events
from mbench.results.figures import rates
from mbench.spec.adaptive import Adaptive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.environments.environment import Environment
    from mbench.measure.run_context import RunContext
    from mbench.measure.stopping import Rates
    from mbench.measure.warmup import Warmup
    from mbench.spec.planning import Comparison

__all__ = ["Interleaved"]

WARMUP_BLOCKS = 4  # at least, one second by default
MOST_SINGLE = 1000
"""Steps that are timed one by one in a round, at most: enough for percentiles."""


class Interleaved(Measurement[Adaptive]):
    """All cases of a comparison side by side, one of them running at a time."""

    def __init__(
        self, comparison: Comparison, environments: Mapping[str, Environment], bench: RunContext
    ) -> None:
        super().__init__(comparison, environments, bench)
        self.random = random.Random(f"{self.protocol.seed}/{comparison.number}")
        self.last: Runner | None = None
        """Who had the latest turn."""
        self.rates: Rates = {}
        self.sets: list[float] = []
        """Seconds that each set took."""
        self.least_seconds = 0.0
        """What the last one would have taken with the fewest rounds."""
        self.cut_short = False
        self.first = first_missing(self.earlier, self.entries)
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
        """All sets; records why it stopped. Cases that fall short get their outcome and leave."""
        self.begin = time.monotonic()
        goal = self.protocol.half_width_goal
        self.listener.hear(
            MeasuringBegan(
                self.protocol.processes if goal is None else None, self.protocol.budget_seconds
            )
        )
        process = self.first
        while not (reason := self.enough(process)):
            self.measure_set(process, deadline=self.begin + self.protocol.budget_seconds)
            process += 1
        if self.cut_short and not reason.startswith("budget"):
            reason += f", rounds cut short by the budget of {self.protocol.budget_seconds:g} s"
        self.store.append(
            events.ComparisonEnd(
                comparison=self.comparison.number,
                reason=reason,
                set_seconds=fmean(self.sets) if self.sets else None,
            )
        )

    def enough(self, measured: int) -> str:
        """Why no set is begun after so many of them; empty if one is."""
        if not self.entries:
            return "no case left to measure"
        seen: list[float | None] = []
        if self.protocol.half_width_goal is not None:
            cases = [entry.number for entry in self.entries]
            seen = widths(self.rates, cases=cases, sets=measured, calibrated=self.calibrated)
        return reason_to_stop(
            self.protocol,
            measured=measured,
            elapsed_seconds=time.monotonic() - self.begin,
            least_seconds=self.least_seconds,
            widths=seen,
        )

    def measure_set(self, process: int, *, deadline: float) -> None:
        """Start, warm up and time one fresh worker per entry; they end with the set."""
        begin = time.monotonic()
        self.listener.hear(ProcessBegan(process + 1))

        with ExitStack() as stack:
            runners = self.start_all(process, stack)
            if not runners:
                return
            if self.room is not None:
                self.rouse(runners)
            setup = time.monotonic() - begin
            setup += (self.protocol.builds - 1) * sum(runner.build_seconds for runner in runners)
            per_round = self.round_seconds(runners)
            rounds = self.protocol.rounds_for(
                share_seconds=self.protocol.share_seconds(
                    measured=process, elapsed_seconds=begin - self.begin
                ),
                setup_seconds=setup,
                round_seconds=per_round,
                paying=self.paying(setup_seconds=setup, round_seconds=per_round),
            )
            self.listener.hear(
                Decision(
                    f"process {process + 1}: {counted(rounds, 'round')} of {per_round:.2g} s, as "
                    f"setting it up took {setup:.1f} s "
                    f"and the budget is {self.protocol.budget_seconds:g} s"
                )
            )
            begins = {build * rounds // self.protocol.builds
                      for build in range(1, self.protocol.builds)}  # fmt: skip
            for round_number in range(rounds):
                late = time.monotonic() + per_round > deadline
                if late and round_number >= self.protocol.fewest_rounds:
                    self.cut_short = True
                    break
                if round_number and round_number in begins:
                    self.build(runners, process, round_number)
                self.measure_round(runners, process, round_number, rounds)
            for runner in runners:
                with self.guard(runner.entry):
                    self.finish(runner, process)
            measured = time.monotonic()
            self.find_rounding([runner for runner in runners if runner.entry in self.entries])
            for runner in runners:
                self.find_ceiling(runner)
            aside = time.monotonic() - measured  # is no part of the budget
            begin, self.begin = begin + aside, self.begin + aside
        self.sets.append(time.monotonic() - begin)
        fewest = self.protocol.rounds or min(self.protocol.fewest_rounds, rounds)
        self.least_seconds = setup + fewest * per_round

    def start_all(self, process: int, stack: ExitStack) -> list[Runner]:
        """A stopped, warm worker of each entry; none where the budget is found to be too small.

        Frameworks are imported side by side. Each prepares its case and warms up alone.
        """
        runners: list[Runner] = []
        order = self.random.sample(self.entries, len(self.entries))
        for entry in order:
            self.listener.hear(PhaseBegan(entry.label, f"starting, process {process + 1}"))
        jobs = stack.enter_context(together(len(order)))  # a worker ends with the thread it is of
        launching = [
            jobs.once(entry.label, partial(self.launched, entry, process, stack)) for entry in order
        ]
        wait(launching)
        for entry, launched in zip(order, launching, strict=True):
            with self.guard(entry):
                runner = self.start(entry, process, launched.result(), warm_up=self.warm)
                runner.worker.stop()
                runners.append(runner)
            if process == self.first and self.too_slow(runners):
                return []
        return runners

    def warm(self, run: Callable[[int], int]) -> Warmup:
        return warm_up(run, shortest_seconds=WARMUP_BLOCKS * self.protocol.block_seconds)

    def rouse(self, runners: list[Runner]) -> None:
        """A turn of each that is not timed: a device that has idled while others were started
        begins with a lower clock.
        """
        for runner in self.random.sample(runners, len(runners)):
            with self.guard(runner.entry):
                self.listener.hear(PhaseBegan(runner.entry.label, "waking the device"))
                runner.worker.resume()
                runner.witness.run(runner.steps_in(self.protocol.block_seconds))
                runner.worker.stop()
        runners[:] = [runner for runner in runners if runner.entry in self.entries]

    def build(self, runners: list[Runner], process: int, round_number: int) -> None:
        """Let every worker prepare its case once more, which draws the luck of memory anew.

        Blocks keep their steps, so that the rounds of a process weigh alike.
        """
        for runner in self.random.sample(runners, len(runners)):
            with self.guard(runner.entry):
                self.listener.hear(PhaseBegan(runner.entry.label, "preparing once more"))
                runner.worker.resume()
                prepared = runner.worker.prepare(runner.entry.case)
                runner.witness.anew()
                warm = self.warm(runner.witness.run)
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

    def paying(self, **seconds: float) -> float | None:
        """How many rounds are worth it, once that shows and only where a width is the goal.

        A number of processes that was asked for leaves nothing to weigh: rounds fill the budget.
        """
        if self.protocol.half_width_goal is None or not self.entries:
            return None
        return rounds_that_pay(self.rates, cases=[e.number for e in self.entries], **seconds)

    def too_slow(self, runners: list[Runner]) -> bool:
        """Whether not even one round of the first set fits the budget; then no case is measured.

        Told as soon as it shows, from what the workers that are warm by now have taken.
        """
        reason = too_small(
            self.protocol,
            workers=len(self.entries),
            warm=len(runners),
            elapsed_seconds=time.monotonic() - self.begin,
            round_seconds=self.round_seconds(runners),
        )
        if reason:
            for entry in list(self.entries):
                self.end(entry, CaseEnded("timeout", reason))
        return bool(reason)

    def measure_round(
        self, runners: list[Runner], process: int, round_number: int, rounds: int
    ) -> None:
        """One turn of every worker in a new order, the others stopped meanwhile."""
        for runner in next_round(runners, last=self.last, chance=self.random):
            self.last = runner
            seconds = self.round_seconds([runner])
            began = BlockBegan(runner.entry.label, "round", round_number, rounds, seconds)
            self.listener.hear(began)
            with self.guard(runner.entry), self.listener.quiet():
                self.turn(runner, process, round_number)
            if runner.entry not in self.entries:
                runners.remove(runner)

    def turn(self, runner: Runner, process: int, round_number: int) -> None:
        """One block, and in inference as many steps timed one by one, for the percentiles."""
        entry, steps = runner.entry, runner.steps_in(self.protocol.block_seconds)
        before = paces(runner.worker, self.sampler)
        runner.worker.resume()
        runner.witness.refresh()
        if lead := self.lead_steps(runner):
            runner.witness.run(lead)
        rate = self.block(runner, process, round_number, steps=steps, paces=before)
        self.rates.setdefault(entry.number, {}).setdefault(process, {})[round_number] = rate
        self.listener.hear(BlockEnded(entry.label, rate))
        if entry.case.mode == "inference":
            # What is waited for may take far longer than its share of a block.
            alone = runner.witness.run(1) / 1e9
            most = max(1, round(2 * self.protocol.block_seconds / alone))
            singles = min(steps, most, MOST_SINGLE)
            self.block(runner, process, round_number, steps=singles, each=True)
        runner.worker.stop()

    def lead_steps(self, runner: Runner) -> int:
        """One at least on a device, whose counter of energy is that of a moment ago."""
        steps = round(self.protocol.lead_seconds / runner.step_seconds)
        return max(1, steps) if self.room is not None else steps

    def round_seconds(self, runners: list[Runner]) -> float:
        """What one turn of each is going to take."""
        seconds = 0.0
        for runner in runners:
            steps = runner.steps_in(self.protocol.block_seconds)
            steps *= 2 if runner.entry.case.mode == "inference" else 1
            seconds += (steps + self.lead_steps(runner)) * runner.step_seconds
        return seconds
