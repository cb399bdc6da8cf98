"""Measures one comparison: fresh sets of workers, all warm, in shuffled interleaved rounds."""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.harness.warmup import warm_up

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mbench.engine.local import Worker
    from mbench.environments.locate import Environment
    from mbench.harness.plan import Comparison, Entry
    from mbench.harness.progress import Progress
    from mbench.harness.protocol import Protocol
    from mbench.results.store import RunWriter
    from mbench.telemetry.sampler import Sampler

__all__ = ["Measurement"]


@dataclass
class Runner:
    """One entry's live worker in one set."""

    entry: Entry
    worker: Worker
    block_steps: int = 1
    step_seconds: float = 0.0

    @property
    def latency_blocks(self) -> bool:
        """Inference is also timed step by step, for the percentiles."""
        return self.entry.case.mode == "inference"

    @property
    def round_seconds(self) -> float:
        return self.block_steps * self.step_seconds * (2 if self.latency_blocks else 1)


class Measurement:
    """Measures one comparison and writes every raw value down as soon as it is there."""

    def __init__(
        self,
        comparison: Comparison,
        environments: Mapping[str, Environment],
        *,
        protocol: Protocol,
        store: RunWriter,
        progress: Progress,
        sampler: Sampler,
    ) -> None:
        """`environments` by label; entries without one take no part."""
        self.comparison = comparison
        self.environments = environments
        self.protocol = protocol
        self.store = store
        self.progress = progress
        self.sampler = sampler
        self.random = random.Random(f"{protocol.seed}/{comparison.number}")
        self.entries = [e for e in comparison.entries if e.label in environments]
        self.workers: dict[int, Worker] = {}
        self.costliest_set = 0.0
        self.cut_short = False

    def run(self) -> None:
        """All sets; records why it stopped. Cases that fall short get their outcome and leave."""
        begin = time.monotonic()
        reason = "all processes measured"
        for number in range(self.protocol.processes):
            if not self.entries:
                reason = "no case left to measure"
                break
            elapsed = time.monotonic() - begin
            if number and elapsed + self.costliest_set > self.protocol.budget_seconds:
                reason = f"budget of {self.protocol.budget_seconds:g} s spent"
                break
            self.measure_set(number, deadline=begin + self.protocol.budget_seconds)
        if self.cut_short and not reason.startswith("budget"):
            reason += f", rounds cut short by the budget of {self.protocol.budget_seconds:g} s"
        self.store.append("comparison_end", comparison=self.comparison.number, reason=reason)

    def measure_set(self, number: int, *, deadline: float) -> None:
        """Start, warm up and time one fresh worker per entry; they end with the set."""
        begin = time.monotonic()
        with ExitStack() as stack:
            runners = []
            for entry in self.random.sample(self.entries, len(self.entries)):
                runner = self.guard(entry, number, lambda e=entry: self.start(e, number, stack))
                if runner is not None:
                    runner.worker.stop()
                    runners.append(runner)
            if not runners:
                return
            setup = time.monotonic() - begin
            per_round = sum(runner.round_seconds for runner in runners)
            rounds = self.protocol.rounds_for(setup_seconds=setup, round_seconds=per_round)
            for round_number in range(rounds):
                late = time.monotonic() + per_round > deadline
                if late and round_number >= self.protocol.fewest_rounds:
                    self.cut_short = True
                    break
                self.measure_round(runners, number, round_number, rounds)
            for runner in runners:
                self.guard(runner.entry, number, lambda r=runner: self.finish(r, number))
        self.costliest_set = max(self.costliest_set, time.monotonic() - begin)

    def start(self, entry: Entry, number: int, stack: ExitStack) -> Runner:
        """A warm worker."""
        self.progress.phase(entry.label, f"starting, process {number + 1}")
        log = self.log(entry, number)
        worker, info = launch(
            entry.adapter,
            self.environments[entry.label],
            entry.case,
            log=log,
            timeout=self.protocol.timeout_seconds,
        )
        stack.callback(worker.close)
        self.workers[entry.number] = worker
        if number == 0:
            self.store.append("framework", case=entry.number, **asdict(info))
        self.progress.phase(entry.label, "preparing")
        prepared = worker.prepare(entry.case)
        self.progress.phase(entry.label, "warming up")
        first_loss: list[float] = []

        def run(count: int) -> int:
            elapsed = worker.run(count).nanoseconds[0]
            if entry.case.mode == "train" and not first_loss:
                first_loss.append(worker.ask(wire.Loss(), wire.LossValue).loss)
            return elapsed

        warmup = warm_up(run, shortest_seconds=self.protocol.block_seconds)
        self.store.append(
            "process",
            case=entry.number,
            process=number,
            pid=worker.process.pid,
            prepare_seconds=prepared.seconds,
            trainable_parameters=prepared.trainable_parameters,
            differences=prepared.differences,
            first_loss=first_loss[0] if first_loss else None,
            first_step_nanoseconds=warmup.first_step_nanoseconds,
            warmup_blocks=warmup.blocks,
            warmup_reason=warmup.reason,
        )
        steps = max(1, round(self.protocol.block_seconds / warmup.step_seconds))
        return Runner(entry, worker, block_steps=steps, step_seconds=warmup.step_seconds)

    def measure_round(
        self, runners: list[Runner], number: int, round_number: int, rounds: int
    ) -> None:
        """One block of every worker in a new order, the others stopped meanwhile."""
        for runner in self.random.sample(runners, len(runners)):
            self.progress.round(runner.entry.label, round_number + 1, rounds)
            alive = self.guard(
                runner.entry, number, lambda r=runner: self.block(r, number, round_number)
            )
            if alive is None:
                runners.remove(runner)

    def block(self, runner: Runner, number: int, round_number: int) -> bool:
        runner.worker.resume()
        for each in (False, True) if runner.latency_blocks else (False,):
            with self.sampler.watching(runner.worker.process.pid) as watch:
                elapsed = runner.worker.run(runner.block_steps, each=each)
            block = {"case": runner.entry.number, "process": number, "round": round_number,
                     "each": each}  # fmt: skip
            self.store.append(
                "block",
                **block,
                steps=runner.block_steps,
                start=elapsed.start_nanoseconds,
                nanoseconds=elapsed.nanoseconds,
            )
            self.store.append(
                "telemetry",
                **block,
                cores=watch.cores,
                samples=[sample.document() for sample in watch.samples],
            )
            if not each:
                samples = runner.block_steps * runner.entry.case.batch_size
                rate = samples * 1e9 / elapsed.nanoseconds[0]
                self.progress.throughput(runner.entry.label, rate)
        runner.worker.stop()
        return True

    def finish(self, runner: Runner, number: int) -> bool:
        runner.worker.resume()
        used = runner.worker.ask(wire.Memory(), wire.MemoryUsed)
        self.store.append(
            "memory", case=runner.entry.number, process=number, peak_bytes=used.peak_bytes
        )
        return True

    def guard(self, entry: Entry, number: int, action):  # type: ignore[no-untyped-def]
        """Do `action`; where it ends the case, record its outcome and go on without the entry."""
        try:
            return action()
        except CaseEnded as end:
            if worker := self.workers.pop(entry.number, None):
                worker.kill()  # it may be alive, and would run while others are timed
            self.entries.remove(entry)
            self.store.outcome(entry.number, end)
            self.progress.ended(entry.label, end)
            return None

    def log(self, entry: Entry, number: int) -> Path:
        return self.store.log_path(f"{entry.number:03}-{entry.spec.name}-{number + 1}.log")
