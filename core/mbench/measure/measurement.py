"""What every protocol does with the cases of a comparison: start, warm up, write down, let go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.engine.watching import watching
from mbench.machine.devices import accelerator
from mbench.measure import facts
from mbench.measure.activity import CaseStopped, PhaseBegan
from mbench.measure.evidence_collector import EvidenceCollector
from mbench.measure.rounding import STEPS, ask_rounding, unexplained
from mbench.measure.trial import most
from mbench.plugins.launcher import pids_here
from mbench.results import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import ExitStack

    from mbench.contract.adapter import FrameworkInfo
    from mbench.environments.environment import Environment
    from mbench.machine.pace import Paces
    from mbench.measure.run_context import RunContext
    from mbench.measure.warmup import Warmup
    from mbench.plugins.launcher import Worker
    from mbench.spec.planning import Comparison, Entry
    from mbench.spec.protocol import Protocol

__all__ = ["Measurement", "Runner"]

Constants = TypeVar("Constants", bound="Protocol")
Launched: TypeAlias = "tuple[Worker, FrameworkInfo]"


@dataclass
class Runner:
    """One entry's live worker in one process of it."""

    entry: Entry
    worker: Worker
    witness: EvidenceCollector
    step_seconds: float
    build_seconds: float = 0.0
    """What preparing the case and warming up took."""

    def steps_in(self, seconds: float) -> int:
        """How many steps fill that time, one at least."""
        return max(1, round(seconds / self.step_seconds))


class Measurement(ABC, Generic[Constants]):
    """One comparison being measured; every raw value is written down as soon as it is there."""

    def __init__(
        self,
        comparison: Comparison,
        environments: Mapping[str, Environment],
        bench: RunContext,
    ) -> None:
        """`environments` by label; entries without one take no part."""
        self.comparison = comparison
        self.environments = environments
        self.protocol = cast("Constants", bench.protocol)  # it is what named this class
        self.launcher = bench.launcher
        self.store = bench.store
        self.listener = bench.listener
        self.sampler = bench.sampler
        self.ceilings = bench.ceilings
        self.room = bench.room
        self.earlier = bench.earlier
        self.entries = [e for e in comparison.entries if e.label in environments]
        self.workers: dict[int, Worker] = {}
        self.calibrated: dict[int, list[float]] = {}
        """Ratios of identical processes, by case, where this machine knows them."""
        self.address = ""
        """Of the device that the first worker uses."""
        self.case = comparison.entries[0].case
        """That of all, but for who computes it."""
        ranks = self.case.places.devices_per_node
        self.sampler.gpu = accelerator(self.case.device, ranks=ranks)

    @property
    def limit_bytes(self) -> int | None:
        """What a worker may hold: of a device its share, the same one as in the search."""
        asked = self.protocol.memory_limit_bytes
        workers = len(self.comparison.entries) if self.protocol.side_by_side else 1
        return self.room.limit_bytes(asked, workers=workers) if self.room else asked

    def launched(self, entry: Entry, process: int, stack: ExitStack) -> Launched:
        """A worker that has imported its framework, stopped; it lives as long as `stack`."""
        worker, info = launch(
            entry.adapter,
            self.environments[entry.label],
            entry.case,
            log=self.store.log_path(f"{entry.number:03}-{entry.spec.name}-{process + 1}.log"),
            timeout=self.protocol.timeout_seconds,
            memory_limit_bytes=self.limit_bytes,
            launcher=self.launcher,
        )
        stack.callback(worker.close)
        worker.stop()
        return worker, info

    def start(
        self,
        entry: Entry,
        process: int,
        launched: Launched,
        *,
        warm_up: Callable[[Callable[[int], int]], Warmup],
    ) -> Runner:
        """What was launched, warm."""
        worker, info = launched
        self.workers[entry.number] = worker
        worker.resume()
        self.watch(info)
        if process == 0:
            known = facts.framework(entry, info, self.store.system)
            for fact in (*known, *facts.nodes(entry, worker)):
                self.store.append(fact)
                if isinstance(fact, events.Calibration):
                    self.calibrated[entry.number] = fact.ratios
        self.listener.hear(PhaseBegan(entry.label, "preparing"))
        free_before = self.room.free_now() if self.room else 0
        prepared = worker.prepare(entry.case)
        self.listener.hear(PhaseBegan(entry.label, "warming up"))
        witness = EvidenceCollector(entry, process, worker, self.store, batches=prepared.batches)
        first: list[wire.Seen] = []

        def run(count: int) -> int:
            elapsed = witness.run(count)
            if not first:
                first.append(witness.look())
            return elapsed

        warmup = warm_up(run)
        if self.room and (limit := self.limit_bytes):
            pids = pids_here(worker)
            if excess := self.room.excess(pids, limit, free_before=free_before):
                raise CaseEnded("oom", excess)
        warmed = worker.ask_all(wire.Memory(anew=True), wire.MemoryUsed)
        self.store.append(
            events.Process(
                case=entry.number,
                process=process,
                pid=worker.processes[0].pid,
                prepare_seconds=prepared.seconds,
                trainable_parameters=prepared.trainable_parameters,
                differences=prepared.differences,
                batches=prepared.batches,
                first_loss=first[0].loss,
                first_step_nanoseconds=warmup.first_step_nanoseconds,
                warmup_blocks=warmup.blocks,
                warmup_reason=warmup.reason,
                warmup_peak_bytes=most(warmed) if all(one.anew for one in warmed) else None,
                synchronize_nanoseconds=round(
                    median(worker.ask(wire.TimeWaits(), wire.Elapsed).nanoseconds)
                ),
            )
        )
        witness.began()
        seconds = prepared.seconds + warmup.seconds
        return Runner(entry, worker, witness, warmup.step_seconds, seconds)

    def watch(self, info: FrameworkInfo) -> None:
        """What a worker uses is the one to look at; raises CaseEnded if another device has been.

        Frameworks on different ones are not compared.
        """
        if not info.device_address or info.device_address == self.address:
            return
        if self.address:
            raise CaseEnded(
                "failed",
                f"it uses the device at {info.device_address}, and others that at {self.address}: "
                "let all of them see the same one first",
            )
        self.address = info.device_address
        known = self.sampler.gpu.address if self.sampler.gpu else ""
        if known != self.address:
            self.sampler.gpu = accelerator(self.case.device, self.address)

    def block(
        self,
        runner: Runner,
        process: int,
        round_number: int,
        *,
        steps: int,
        each: bool = False,
        paces: Mapping[str, Paces] | None = None,
    ) -> float:
        """Time `steps` steps and write them down, and what the last of them left.

        `paces` are those of each host before. Returns samples per second.
        """
        entry = runner.entry
        lead = 1 if entry.case.exchanges else 0
        runner.witness.approach(lead + steps)
        limit = max(self.protocol.timeout_seconds, 2 * steps * runner.step_seconds)
        with watching(runner.worker, self.sampler) as watches:
            begin = perf_counter_ns()
            elapsed = runner.worker.run(steps, each=each, lead=lead, timeout=limit)
            waited = perf_counter_ns() - begin
        of_block = events.OfBlock(case=entry.number, process=process, round=round_number, each=each)
        self.store.append(
            events.Block(
                **vars(of_block),
                steps=steps,
                start=elapsed.start_nanoseconds,
                nanoseconds=elapsed.nanoseconds,
                ranks=elapsed.ranks,
            )
        )
        for watch in watches:
            before = paces.get(watch.host) if paces else None
            self.store.append(
                events.Telemetry(
                    **vars(of_block),
                    host=watch.host,
                    cores=watch.cores,
                    samples=watch.samples,
                    pace=before.core if before else None,
                    memory_pace=before.memory if before else None,
                )
            )
        runner.witness.see(of_block, steps=steps, lead=lead, waited=waited)
        return steps * entry.case.samples_per_step * 1e9 / sum(elapsed.nanoseconds)

    @abstractmethod
    def run(self) -> None:
        """Measure to the end, and write down why it ended."""

    def finish(self, runner: Runner, process: int) -> None:
        """Write down what a process used in all, of several the one that used most."""
        runner.worker.resume()
        used = runner.worker.ask_all(wire.Memory(), wire.MemoryUsed)
        idle = runner.witness.end()
        self.store.append(
            events.Memory(
                case=runner.entry.number, process=process, peak_bytes=most(used), idle_look=idle
            )
        )
        runner.worker.stop()

    def find_rounding(self, runners: Sequence[Runner]) -> None:
        """Let those whose work is not that of others show how far rounding alone carries it."""
        wanted = unexplained(self.store.run, [runner.entry for runner in runners])
        for runner in [one for one in runners if one.entry in wanted]:
            with self.guard(runner.entry):
                text = "estimating the effect of rounding"
                self.listener.hear(PhaseBegan(runner.entry.label, text))
                runner.worker.resume()
                limit = max(self.protocol.timeout_seconds, 4 * STEPS * runner.step_seconds)
                self.store.append(ask_rounding(runner.entry, runner.worker, timeout=limit))
                runner.worker.stop()

    def find_ceiling(self, runner: Runner) -> None:
        """Let a worker that has done its part show what the machine can do, if none has yet."""
        entry = runner.entry
        if self.ceilings is None or entry not in self.entries or self.ceilings.knows(entry):
            return
        self.listener.hear(PhaseBegan(entry.label, "measuring the machine's ceiling"))
        runner.worker.resume()
        self.ceilings.find(entry, runner.worker)
        runner.worker.stop()

    @contextmanager
    def guard(self, entry: Entry) -> Iterator[None]:
        """Where what is done within ends the case, record its outcome and go on without it."""
        try:
            yield
        except (CaseEnded, Malformed) as error:
            self.end(entry, CaseEnded.of(error))

    def end(self, entry: Entry, end: CaseEnded) -> None:
        """Go on without `entry`."""
        if worker := self.workers.pop(entry.number, None):
            worker.kill()  # it may be alive, and would run while others are timed
        self.entries.remove(entry)
        self.store.append(facts.outcome(entry, end))
        self.listener.hear(CaseStopped(entry.label, end))
