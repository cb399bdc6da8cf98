"""Finds a framework's fastest compiler: all take turns, each in several fresh processes."""

from __future__ import annotations

import random
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.engine.launch import launch
from mbench.engine.memory import watch
from mbench.engine.outcome import CaseEnded
from mbench.engine.watching import undisturbed
from mbench.machine.absence import awake
from mbench.measure.activity import PhaseBegan
from mbench.measure.facts import peak_bytes
from mbench.measure.rounds import next_order
from mbench.measure.warmup import warm_up
from mbench.plugins.launcher import pids_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.measure.run_context import RunContext
    from mbench.plugins.launcher import Worker
    from mbench.spec.adaptive import Adaptive
    from mbench.spec.planning import Entry

__all__ = ["REPETITIONS", "Candidate", "CompilerSearch"]

REPETITIONS = 3
"""Repetitions with fresh processes: the fewest that give an interval."""
ROUNDS = 5
WARM_SECONDS = 0.5
FAR = 1.5
"""Candidates whose steps take more than this many times as long as the fastest one's are left out
of later repetitions. Of 100 pairs of identical processes, none differed this much."""


@dataclass
class Candidate:
    """One case and its results; `rates` are steps per second by process and round."""

    case: Case
    rates: dict[int, dict[int, float]] = field(default_factory=dict)
    peak_bytes: int = 0
    end: CaseEnded | None = None
    too_slow: bool = False

    @property
    def processes(self) -> list[float]:
        """Seconds per step in each process."""
        return [sum(1 / rate for rate in one.values()) / len(one) for one in self.rates.values()]


@dataclass
class Runner:
    name: str
    worker: Worker
    step_seconds: float


class CompilerSearch:
    """The candidates of one entry, by name; intervals of ratios show which may be the fastest."""

    def __init__(
        self,
        entry: Entry,
        environment: Environment,
        cases: Mapping[str, Case],
        context: RunContext,
        *,
        constants: Adaptive,
        limit_bytes: int | None,
        log: Callable[[], Path],
    ) -> None:
        """`constants` has the lengths of blocks and lead-ins; `log` returns a new file's path."""
        self.entry = entry
        self.environment = environment
        self.candidates = {name: Candidate(case) for name, case in cases.items()}
        self.context = context
        self.constants = constants
        self.limit_bytes = limit_bytes
        self.log = log
        self.random = random.Random(f"{constants.seed}/{entry.number}")

    @property
    def left(self) -> list[str]:
        """Candidates that may still be the fastest."""
        return [name for name, one in self.candidates.items() if not (one.end or one.too_slow)]

    def run(self, *, seconds: float) -> None:
        """Run all repetitions, or as many as fit that time, but always the first."""
        begin, longest = awake(), 0.0
        for number in range(REPETITIONS):
            spent = awake() - begin
            if number and (len(self.left) < 2 or spent + longest > seconds):
                break
            text = f"trying compilers {', '.join(self.left)}: process {number + 1} of {REPETITIONS}"
            self.context.listener.hear(PhaseBegan(self.entry.label, text))
            self.measure_repetition(number)
            self.drop()
            longest = max(longest, awake() - begin - spent)

    def measure_repetition(self, number: int) -> None:
        """Measure a fresh worker of each candidate; the workers end with the repetition."""
        with ExitStack() as stack:
            runners: list[Runner] = []
            for name in self.random.sample(self.left, len(self.left)):
                with self.guard(name):
                    runners.append(self.start(name, stack))
                    runners[-1].worker.stop()
            last = None
            for at in range(ROUNDS):
                for runner in next_order(runners, last=last, chance=self.random):
                    last = runner
                    with self.guard(runner.name, runner), self.context.listener.quiet():
                        self.time_slice(runner, number, at)
                runners = [runner for runner in runners if runner.name in self.left]
            for runner in runners:
                with self.guard(runner.name, runner):
                    runner.worker.resume()
                    used = runner.worker.ask_all(wire.Memory(), wire.MemoryUsed)
                    runner.worker.stop()
                    known = self.candidates[runner.name]
                    known.peak_bytes = max(known.peak_bytes, peak_bytes(used) or 0)

    def start(self, name: str, stack: ExitStack) -> Runner:
        """A warm worker; raises CaseEnded, with outcome "oom" if it was killed for memory use."""
        case = self.candidates[name].case
        worker, _ = launch(
            self.entry.adapter,
            self.environment,
            case,
            log=self.log(),
            timeout=self.context.launch.timeout_seconds,
            memory_limit_bytes=self.limit_bytes,
            launcher=self.context.launcher,
            timed=True,
        )
        stack.callback(worker.close)
        watched = watch(
            pids_here(worker), limit_bytes=self.limit_bytes, memory=self.context.device_memory
        )
        try:
            with watched:
                worker.prepare(case)
                warm = warm_up(
                    lambda count: undisturbed(worker, lambda: worker.run(count).nanoseconds[0]),
                    shortest_seconds=WARM_SECONDS,
                )
                watched.look()
            if watched.reason:
                raise CaseEnded("oom", watched.reason)
        except CaseEnded as end:
            worker.kill()
            raise (CaseEnded("oom", watched.reason) if watched.reason else end) from None
        return Runner(name, worker, warm.step_seconds)

    def time_slice(self, runner: Runner, number: int, at: int) -> None:
        runner.worker.resume()
        if lead := round(self.constants.lead_seconds / runner.step_seconds):
            runner.worker.run(lead)
        count = max(1, round(self.constants.block_seconds / runner.step_seconds))
        elapsed = undisturbed(runner.worker, lambda: runner.worker.run(count).nanoseconds[0])
        rate = count * 1e9 / elapsed
        self.candidates[runner.name].rates.setdefault(number, {})[at] = rate
        runner.worker.stop()

    def drop(self) -> None:
        """Drop candidates that are far slower than the fastest."""
        usual = {name: min(self.candidates[name].processes) for name in self.left}
        for name, seconds in usual.items():
            self.candidates[name].too_slow = seconds > FAR * min(usual.values())

    def ranking(self) -> tuple[str, list[str]]:
        """The fastest remaining candidate, and those that it is not shown to be faster than."""
        from mbench import stats

        def ratio(of: str, against: str) -> stats.Interval:
            found = stats.ratio(self.candidates[against].rates, self.candidates[of].rates)
            assert found is not None
            return found.interval()

        best = max(self.left, key=lambda name: ratio(name, self.left[0]).value)
        others = [name for name in self.left if name != best]
        return best, [name for name in others if not ratio(name, best).leaves_out(1)]

    @contextmanager
    def guard(self, name: str, runner: Runner | None = None) -> Iterator[None]:
        """If a candidate fails within the block, record that and go on with the others."""
        try:
            yield
        except CaseEnded as end:
            self.candidates[name].end = end
            if runner:
                runner.worker.kill()  # it may still be running while others are timed
