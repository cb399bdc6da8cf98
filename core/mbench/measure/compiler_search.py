"""Finds the fastest of several cases of one framework: they take turns, in several fresh sets."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.engine.launch import launch
from mbench.engine.memory import watch
from mbench.engine.outcome import CaseEnded
from mbench.measure.activity import PhaseBegan
from mbench.measure.order import next_round
from mbench.measure.trial import most
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

__all__ = ["SETS", "Candidate", "Contest"]

SETS = 3
"""Of fresh processes: as few as have an interval."""
ROUNDS = 5
WARM_SECONDS = 0.5
FAR = 1.5
"""Times as slow as the fastest: whoever is, after a set, takes no part in the next. Of 100 pairs of
identical processes, none was so far apart."""


@dataclass
class Candidate:
    """One case and what is known of it; `rates` are steps per second by process and round."""

    case: Case
    rates: dict[int, dict[int, float]] = field(default_factory=dict)
    peak_bytes: int = 0
    end: CaseEnded | None = None
    far: bool = False

    @property
    def processes(self) -> list[float]:
        """Seconds of a step in each."""
        return [sum(1 / rate for rate in one.values()) / len(one) for one in self.rates.values()]


@dataclass
class Runner:
    name: str
    worker: Worker
    step_seconds: float


class Contest:
    """What is tried of one entry, by name; intervals of ratios tell who may be the fastest."""

    def __init__(
        self,
        entry: Entry,
        environment: Environment,
        cases: Mapping[str, Case],
        bench: RunContext,
        *,
        constants: Adaptive,
        limit_bytes: int | None,
        log: Callable[[], Path],
    ) -> None:
        """`constants` say how long blocks and leads are; `log` names a new file."""
        self.entry = entry
        self.environment = environment
        self.candidates = {name: Candidate(case) for name, case in cases.items()}
        self.bench = bench
        self.constants = constants
        self.limit_bytes = limit_bytes
        self.log = log
        self.random = random.Random(f"{constants.seed}/{entry.number}")

    @property
    def left(self) -> list[str]:
        """Who may still be the fastest."""
        return [name for name, one in self.candidates.items() if not (one.end or one.far)]

    def run(self, *, seconds: float) -> None:
        """All sets, or as many as fit that time, the first in any case."""
        begin, longest = time.monotonic(), 0.0
        for number in range(SETS):
            spent = time.monotonic() - begin
            if number and (len(self.left) < 2 or spent + longest > seconds):
                break
            said = f"trying compilers {', '.join(self.left)}: process {number + 1} of {SETS}"
            self.bench.listener.hear(PhaseBegan(self.entry.label, said))
            self.measure_set(number)
            self.drop()
            longest = max(longest, time.monotonic() - begin - spent)

    def measure_set(self, number: int) -> None:
        """A fresh worker of each, which end with the set."""
        with ExitStack() as stack:
            runners: list[Runner] = []
            for name in self.random.sample(self.left, len(self.left)):
                with self.guard(name):
                    runners.append(self.start(name, stack))
                    runners[-1].worker.stop()
            last = None
            for at in range(ROUNDS):
                for runner in next_round(runners, last=last, chance=self.random):
                    last = runner
                    with self.guard(runner.name, runner), self.bench.listener.quiet():
                        self.turn(runner, number, at)
                runners = [runner for runner in runners if runner.name in self.left]
            for runner in runners:
                with self.guard(runner.name, runner):
                    runner.worker.resume()
                    used = runner.worker.ask_all(wire.Memory(), wire.MemoryUsed)
                    runner.worker.stop()
                    known = self.candidates[runner.name]
                    known.peak_bytes = max(known.peak_bytes, most(used) or 0)

    def start(self, name: str, stack: ExitStack) -> Runner:
        """A warm worker; raises CaseEnded, of memory where that was why it was killed."""
        case = self.candidates[name].case
        worker, _ = launch(
            self.entry.adapter,
            self.environment,
            case,
            log=self.log(),
            timeout=self.constants.timeout_seconds,
            memory_limit_bytes=self.limit_bytes,
            launcher=self.bench.launcher,
        )
        stack.callback(worker.close)
        watched = watch(pids_here(worker), limit_bytes=self.limit_bytes, memory=self.bench.room)
        try:
            with watched:
                worker.prepare(case)
                warm = warm_up(lambda count: worker.run(count).nanoseconds[0],
                               shortest_seconds=WARM_SECONDS)  # fmt: skip
                watched.look()
            if watched.reason:
                raise CaseEnded("oom", watched.reason)
        except CaseEnded as end:
            worker.kill()
            raise (CaseEnded("oom", watched.reason) if watched.reason else end) from None
        return Runner(name, worker, warm.step_seconds)

    def turn(self, runner: Runner, number: int, at: int) -> None:
        runner.worker.resume()
        if lead := round(self.constants.lead_seconds / runner.step_seconds):
            runner.worker.run(lead)
        count = max(1, round(self.constants.block_seconds / runner.step_seconds))
        rate = count * 1e9 / runner.worker.run(count).nanoseconds[0]
        self.candidates[runner.name].rates.setdefault(number, {})[at] = rate
        runner.worker.stop()

    def drop(self) -> None:
        """Leave out who is far slower than the fastest."""
        usual = {name: min(self.candidates[name].processes) for name in self.left}
        for name, seconds in usual.items():
            self.candidates[name].far = seconds > FAR * min(usual.values())

    def standing(self) -> tuple[str, list[str]]:
        """The fastest of those that are left, one at least; and all that it is not shown to be
        faster than.
        """
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
        """Where what is done within ends a candidate, the others go on without it."""
        try:
            yield
        except CaseEnded as end:
            self.candidates[name].end = end
            if runner:
                runner.worker.kill()  # it may be alive, and would run while others are timed
