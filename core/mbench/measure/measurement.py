"""What all protocols share: workers are started, warmed up, timed, and dropped if they fail."""

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
from mbench.engine.watching import undisturbed, watching
from mbench.machine.devices import accelerator
from mbench.measure import facts
from mbench.measure.absences import note_absences
from mbench.measure.activity import CaseStopped, Notice, PhaseBegan
from mbench.measure.evidence_collector import EvidenceCollector, sketches
from mbench.measure.facts import peak_bytes
from mbench.measure.fresh_data import Draws
from mbench.measure.rounding import NUDGES, entries_to_explain, measure_rounding, series_of
from mbench.plugins.launcher import pids_here
from mbench.results import events
from mbench.results.ceiling import Peaks
from mbench.results.changes import BEGUN
from mbench.results.figures import timed_steps
from mbench.results.validity import MOST_MFU, share_of_peak
from mbench.scenarios.find import exchanges, work_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import ExitStack

    from mbench.contract.adapter import FrameworkInfo
    from mbench.environments.environment import Environment
    from mbench.machine.pace import Paces
    from mbench.machine.sampler import Watch
    from mbench.measure.feeding import Feeder
    from mbench.measure.run_context import RunContext
    from mbench.measure.warmup import Warmup
    from mbench.plugins.launcher import Worker
    from mbench.spec.planning import Comparison, Entry
    from mbench.spec.protocol import Protocol

__all__ = ["Measurement", "Runner"]

PEAKS = 3
"""Further attempts at the machine's peak if a case seems to exceed it in a process."""

Constants = TypeVar("Constants", bound="Protocol")
Launched: TypeAlias = "tuple[Worker, FrameworkInfo]"


@dataclass
class Runner:
    """One entry's live worker, in one of the entry's processes."""

    entry: Entry
    worker: Worker
    evidence: EvidenceCollector
    step_seconds: float
    build_seconds: float = 0.0
    """Time for preparing the case and warming up."""
    depth: int = 0
    """How many batches its input pipeline prepares ahead."""
    feeder: Feeder | None = None
    """Present if its batches come from files."""

    @property
    def samples_per_step(self) -> int:
        """Samples per step on all devices together."""
        return self.entry.case.samples_per_step * work_of(self.entry.case).samples_per_item

    def steps_in(self, seconds: float) -> int:
        """How many steps fill that time, at least one."""
        return max(1, round(seconds / self.step_seconds))


class Measurement(ABC, Generic[Constants]):
    """The measurement of one comparison; every raw value is stored at once."""

    def __init__(
        self,
        comparison: Comparison,
        environments: Mapping[str, Environment],
        context: RunContext,
    ) -> None:
        """`environments` by label; entries without one take no part."""
        self.comparison = comparison
        self.environments = environments
        self.protocol = cast("Constants", context.protocol)  # its kind chose this class
        self.launcher = context.launcher
        self.limits = context.launch
        self.store = context.store
        self.listener = context.listener
        self.sampler = context.sampler
        self.ceilings = context.ceilings
        self.device_memory = context.device_memory
        self.earlier = context.earlier
        self.entries = [e for e in comparison.entries if e.label in environments]
        self.draws = self.draws_before()
        self.workers: dict[int, Worker] = {}
        self.calibrated: dict[int, list[float]] = {}
        """Ratios of identical processes, by case, if this machine is calibrated for it."""
        self.address = ""
        """Address of the first worker's device."""
        self.case = comparison.entries[0].case
        """The first entry's case; others differ only in what depends on the framework."""
        ranks = self.case.parsed_scale.devices_per_node
        self.sampler.gpu = accelerator(self.case.device, ranks=ranks)

    def draws_before(self) -> Draws:
        """New draws; if there is only one case, all its processes have the same data."""
        return Draws(alone=len(self.comparison.entries) == 1)

    @property
    def limit_bytes(self) -> int | None:
        """The limit on a worker's memory: on a device, a share of its memory, as in a search."""
        asked = self.limits.memory_limit_bytes
        workers = len(self.comparison.entries) if self.protocol.side_by_side else 1
        return (
            self.device_memory.limit_bytes(asked, workers=workers) if self.device_memory else asked
        )

    def launched(self, entry: Entry, process: int, stack: ExitStack) -> Launched:
        """A stopped worker that has imported its framework; it lives as long as `stack`."""
        worker, info = launch(
            entry.adapter,
            self.environments[entry.label],
            entry.case,
            log=self.store.log_path(f"{entry.number:03}-{entry.spec.name}-{process + 1}.log"),
            timeout=self.limits.timeout_seconds,
            memory_limit_bytes=self.limit_bytes,
            launcher=self.launcher,
            timed=True,
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
        """Prepare and warm up a launched worker."""
        worker, info = launched
        self.workers[entry.number] = worker
        worker.resume()
        self.watch(info)
        if self.store.run.cases[entry.number].info is None:
            known = facts.framework(entry, info, self.store.system)
            for fact in (*known, *facts.nodes(entry, worker)):
                self.store.append(fact)
                if isinstance(fact, events.Calibration):
                    self.calibrated[entry.number] = fact.ratios
        environment = self.environments[entry.label]
        for state in facts.worker_states(entry, process, worker, environment):
            self.store.append(state)
        if (found := facts.one_machine(worker)) and found not in self.store.run.checks:
            self.store.append(events.Surroundings(checks=[found]))
            self.listener.hear(Notice(f"warn  {found.name}: {found.found}: {found.hint}"))
        self.listener.hear(PhaseBegan(entry.label, "preparing"))
        free_before = self.device_memory.free_now() if self.device_memory else 0
        prepared = worker.prepare(entry.case)
        self.listener.hear(PhaseBegan(entry.label, "warming up"))
        evidence = EvidenceCollector(entry, process, worker, self.store, batches=prepared.batches)
        first: list[wire.Seen] = []

        def run(count: int) -> int:
            elapsed = evidence.run(count)
            if not first:
                first.append(evidence.look())
            return elapsed

        warmup = warm_up(run)
        if self.device_memory and (limit := self.limit_bytes):
            pids = pids_here(worker)
            if excess := self.device_memory.excess(pids, limit, free_before=free_before):
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
                first_outputs=sketches(first[0].outputs),
                first_step_nanoseconds=warmup.first_step_nanoseconds,
                warmup_blocks=warmup.blocks,
                warmup_reason=warmup.reason,
                warmup_peak_bytes=peak_bytes(warmed) if all(one.anew for one in warmed) else None,
                synchronize_nanoseconds=round(
                    median(worker.ask(wire.TimeWaits(), wire.Elapsed).nanoseconds)
                ),
            )
        )
        evidence.begin_recording()
        with watching(worker, self.sampler):
            pass  # later looks are compared with its present state
        seconds = prepared.seconds + warmup.seconds
        return Runner(entry, worker, evidence, warmup.step_seconds, seconds, prepared.depth)

    def watch(self, info: FrameworkInfo) -> None:
        """Sample the worker's device; raises CaseEnded if other workers use another device.

        Frameworks on different devices are not compared.
        """
        if not info.device_address or info.device_address == self.address:
            return
        if self.address:
            raise CaseEnded(
                "failed",
                f"it uses the device at {info.device_address}, but others use {self.address}: make "
                "the same device the first visible one for all workers",
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
        """Time and record `steps` steps, and the result of the last one. Repeats this if mbench,
        the worker or one of its machines was stopped meanwhile.

        `paces` are those of each host before the block. Returns samples per second.
        """
        entry = runner.entry
        lead = 1 if exchanges(entry.case) else 0
        limit = max(self.limits.timeout_seconds, 2 * steps * runner.step_seconds)
        of_block = events.OfBlock(case=entry.number, process=process, round=round_number, each=each)

        def timed() -> tuple[list[Watch], wire.Elapsed, int]:
            with watching(runner.worker, self.sampler) as watches:
                begin = perf_counter_ns()
                elapsed = runner.worker.run(steps, each=each, lead=lead, timeout=limit)
                waited = perf_counter_ns() - begin
            return watches, elapsed, waited

        def again(found: tuple[list[Watch], wire.Elapsed, int]) -> None:
            stops = found[1].stops
            note_absences(self.store, self.listener, runner.worker, of_block, stops=stops)
            if runner.feeder:
                runner.feeder.take()
            runner.evidence.discard(lead + steps)
            provide()

        def provide() -> None:
            runner.evidence.approach(lead + steps, timeout=limit)
            if runner.feeder:
                runner.feeder.give(steps, round_number=round_number)
            else:
                runner.evidence.provide(lead + steps)

        provide()
        note_absences(self.store, self.listener, runner.worker)
        watches, elapsed, waited = undisturbed(
            runner.worker, timed, again=again, held=lambda found: found[1].stops > 0
        )
        self.store.append(
            events.Block(
                **vars(of_block),
                steps=steps,
                start=elapsed.start_nanoseconds,
                nanoseconds=elapsed.nanoseconds,
                ranks=elapsed.ranks,
                marks=elapsed.marks,
            )
        )
        if runner.feeder:
            runner.feeder.take()
        for watch in watches:
            before = paces.get(watch.host) if paces else None
            self.store.append(
                events.Telemetry(
                    **vars(of_block),
                    host=watch.host,
                    cores=watch.cores,
                    samples=watch.samples,
                    threads=watch.threads or None,
                    moves=watch.moves,
                    pace=before.core if before else None,
                    memory_pace=before.memory if before else None,
                )
            )
        runner.evidence.see(of_block, steps=steps, lead=lead, waited=waited)
        return steps * runner.samples_per_step * 1e9 / sum(elapsed.nanoseconds)

    @abstractmethod
    def run(self) -> None:
        """Measure to the end, and record why it ended."""

    def finish(self, runner: Runner, process: int) -> None:
        """Record a process's peak memory; with several ranks, the largest."""
        runner.worker.resume()
        used = runner.worker.ask_all(wire.Memory(), wire.MemoryUsed)
        idle = runner.evidence.end()
        self.store.append(
            events.Memory(
                case=runner.entry.number,
                process=process,
                peak_bytes=peak_bytes(used),
                idle_look=idle,
            )
        )
        runner.worker.stop()

    def find_rounding(self, runners: Sequence[Runner], *, all_of_them: bool = False) -> None:
        """Measure the effect of rounding for entries whose results differ from others'. With
        `all_of_them`, measure it wherever it may count, since other results may still be missing.
        """
        for _ in range(NUDGES):
            left = [one for one in runners if one.entry in self.entries]
            wanted = entries_to_explain(
                self.store.run, [one.entry for one in left], all_of_them=all_of_them
            )
            for runner in [one for one in left if one.entry in wanted]:
                self.nudge(runner)

    def nudge(self, runner: Runner) -> None:
        """Measure how far a unit in the last place carries a case."""
        with self.guard(runner.entry):
            text = "estimating the effect of rounding"
            self.listener.hear(PhaseBegan(runner.entry.label, text))
            runner.worker.resume()
            case = self.store.run.cases[runner.entry.number]
            steps = 2 * max(series_of(runner.entry, case), default=BEGUN)
            limit = max(self.limits.timeout_seconds, 4 * steps * runner.step_seconds)
            try:
                for found in measure_rounding(runner.entry, case, runner.worker, timeout=limit):
                    self.store.append(found)
            except CaseEnded as end:  # the largest batch leaves no memory for it
                if end.outcome != "oom":
                    raise
            runner.worker.stop()

    def find_ceiling(self, runner: Runner) -> None:
        """Measure the machine's ceiling with a worker that has finished, unless it is known. Time
        the matrix products again while the case seems to be faster than they are: the machine may
        have been busy with something else when they were timed.
        """
        entry, ceilings = runner.entry, self.ceilings
        if ceilings is None or entry not in self.entries:
            return
        if ceilings.has(entry) and not self.is_beyond_peak(entry):
            return
        self.listener.hear(PhaseBegan(entry.label, "measuring the machine's ceiling"))
        runner.worker.resume()
        if not ceilings.has(entry):
            ceilings.measure(entry, runner.worker)
        for _ in range(PEAKS):
            if not self.is_beyond_peak(entry):
                break
            ceilings.measure_products(entry, runner.worker)
        runner.worker.stop()

    def is_beyond_peak(self, entry: Entry) -> bool:
        """Whether a case was faster than the machine's ceiling as measured so far."""
        record = self.store.run.cases[entry.number]
        highest = Peaks(self.store.run).products(record)
        return share_of_peak(record, timed_steps(record), highest=highest) > MOST_MFU

    @contextmanager
    def guard(self, entry: Entry) -> Iterator[None]:
        """If the case fails within the block, record the outcome and go on without it."""
        try:
            yield
        except (CaseEnded, Malformed) as error:
            self.end(entry, CaseEnded.of(error))

    def end(self, entry: Entry, end: CaseEnded) -> None:
        """Go on without `entry`."""
        if worker := self.workers.pop(entry.number, None):
            worker.kill()  # it may still be running while others are timed
        self.entries.remove(entry)
        self.store.append(facts.outcome(entry, end))
        self.listener.hear(CaseStopped(entry.label, end))
