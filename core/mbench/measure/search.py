"""Finds what a comparison leaves open: the largest batch that fits, the fastest compiler."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from statistics import geometric_mean
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.engine.launch import launch
from mbench.engine.machines import machines
from mbench.engine.memory import SHARE, watch, worker_limit_bytes
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.machine.absence import awake
from mbench.measure.activity import PhaseBegan
from mbench.measure.compiler_search import CompilerSearch
from mbench.measure.facts import peak_bytes
from mbench.plugins.launcher import pids_here
from mbench.results import events
from mbench.results.facts import Tried
from mbench.scenarios.find import resolve, scenario_of, updates
from mbench.spec.adaptive import Adaptive
from mbench.spec.planning import supports

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mbench.contract.case import Case
    from mbench.engine.memory import DeviceMemory
    from mbench.environments.environment import Environment
    from mbench.measure.compiler_search import Candidate
    from mbench.measure.run_context import RunContext
    from mbench.plugins.launcher import Launcher
    from mbench.spec.planning import Comparison, Entry

__all__ = ["Search", "largest", "try_case"]


STEPS = 3


def describe(tried: Tried) -> str:
    """A few words for the progress display."""
    if tried.step_seconds is None:
        return f"{tried.value}: {tried.outcome}"
    milliseconds = tried.step_seconds * 1e3
    step = f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:.3g}"
    memory = "" if tried.peak_bytes is None else f", {tried.peak_bytes / 2**20:,.0f} MiB"
    return f"{tried.value}: {step} ms{memory}"


def try_case(
    value: int | str,
    entry: Entry,
    environment: Environment,
    case: Case,
    *,
    log: Path,
    timeout: float,
    launcher: Launcher,
    limit_bytes: int | None,
    device_memory: DeviceMemory | None = None,
) -> Tried:
    """Run steps of `case` in a worker of its own, looking at each as in a measurement.

    The second step needs memory for what the first one created: momenta, gradients, compiled
    programs. The third finds memory fragmented by the looks.
    """
    try:
        worker, _ = launch(
            entry.adapter,
            environment,
            case,
            log=log,
            timeout=timeout,
            memory_limit_bytes=limit_bytes,
            launcher=launcher,
            timed=True,
        )
    except CaseEnded as end:
        return Tried(value=value, outcome=end.outcome, reason=end.reason)
    try:
        with watch(pids_here(worker), limit_bytes=limit_bytes, memory=device_memory) as watched:
            held = worker.prepare(case).batches
            seconds = []
            renews = scenario_of(case).renews
            for number in range(STEPS):
                if renews:
                    worker.ask(renewal(held, seed=number + 1), wire.Renewed)
                seconds.append(worker.run(1).nanoseconds[0] / 1e9)
                worker.ask(wire.Look(changes=updates(case)), wire.Seen)
            used = worker.ask_all(wire.Memory(), wire.MemoryUsed)
            watched.look()
        if watched.reason:
            return Tried(value=value, outcome="oom", reason=watched.reason)
        return Tried(value=value, step_seconds=min(seconds[1:]), peak_bytes=peak_bytes(used))
    except CaseEnded as end:
        if watched.reason:
            return Tried(value=value, outcome="oom", reason=watched.reason)
        return Tried(value=value, outcome=end.outcome, reason=end.reason)
    finally:
        worker.close()


def renewal(held: int, *, seed: int) -> wire.Renew:
    """New contents for all batches that a worker has: drawing them takes memory, too."""
    return wire.Renew(first=0, count=held, slots=held, chunk=held, seeds=[seed])


RESOLUTION = 16


def largest(fits: Callable[[int], bool], *, start: int) -> int:
    """The largest size that fits, by doubling and then bisection; 0 if not even 1 does.

    It ends once the next size known not to fit is less than a sixteenth larger.
    """
    low, high, size = 0, 0, start
    while True:
        if fits(size):
            low = size
        else:
            high = size
        if not high:
            size = 2 * low
        elif high - low <= max(1, low // RESOLUTION):
            return low
        else:
            size = (low + high) // 2


class Search:
    """Settles what one comparison leaves open, with short-lived workers."""

    def __init__(
        self,
        comparison: Comparison,
        context: RunContext,
    ) -> None:
        self.comparison = comparison
        self.context = context
        self.environments = context.environments
        self.protocol = context.protocol
        self.store = context.store
        self.listener = context.listener
        self.ended: dict[str, CaseEnded] = {}
        """By label: cases that failed and will not be measured."""
        self.logs = 0
        self.begin = awake()

    def settle(self) -> Comparison:
        """The comparison with nothing left open. Cases that failed are in `ended`."""
        comparison = self.comparison
        entries = comparison.entries
        if comparison.best_compiler:
            entries = tuple(self.guarded(entry, self.with_best_compiler) for entry in entries)
        if comparison.largest_batch:
            found = {entry.label: self.guarded(entry, self.with_largest_batch) for entry in entries}
            sizes = [e.case.batch_size for label, e in found.items() if label not in self.ended]
            common = min(sizes, default=1)
            entries = tuple(
                replace(entry, case=replace(entry.case, batch_size=common)) for entry in entries
            )
        return replace(comparison, entries=entries, largest_batch=False, best_compiler=False)

    def guarded(self, entry: Entry, find: Callable[[Entry], Entry]) -> Entry:
        """`entry` with the result of `find`; unchanged if the case fails."""
        if entry.label not in self.ended:
            try:
                return find(entry)
            except (CaseEnded, MbenchError, Malformed) as error:
                end = CaseEnded.of(error)
                self.ended[entry.label] = end
        return entry

    def with_best_compiler(self, entry: Entry) -> Entry:
        """`entry` with the compiler that has the shortest steps among those that run."""
        found = self.found_before(entry, "compiler") or self.try_compilers(entry)
        case = replace(entry.case, compiler=str(chosen(found)))
        return replace(entry, case=case, support=supports(entry.adapter, case))

    def try_compilers(self, entry: Entry) -> events.Search:
        """Compilers alternate in the same rounds; all searches together take as long as one
        measurement.
        """
        case = entry.case
        if self.comparison.largest_batch:  # speed with a batch of one says little
            case = replace(case, batch_size=resolve(case).usual_batch(case.device))
        cases = {name: replace(case, compiler=name) for name in entry.adapter.compilers}
        answers = {name: supports(entry.adapter, cases[name]) for name in cases}
        if not any(support.supported for support in answers.values()):
            raise CaseEnded(entry.lack, entry.support.reason)
        runnable = {name: case for name, case in cases.items() if answers[name].supported}
        # Published protocols do not define searches, so these work as in our own protocol.
        constants = self.protocol if isinstance(self.protocol, Adaptive) else Adaptive()
        search = CompilerSearch(
            entry,
            self.environments.environment_for(entry),
            runnable,
            self.context,
            constants=constants,
            limit_bytes=self.limit_bytes(len(runnable)),
            log=lambda: self.log(entry),
        )
        entries = self.comparison.entries
        left = constants.budget_seconds - (awake() - self.begin)
        search.run(seconds=left / (len(entries) - entries.index(entry)))
        tried = [
            of_candidate(name, search.candidates[name])
            if name in runnable
            else Tried(value=name, outcome="unsupported", reason=answers[name].reason)
            for name in cases
        ]
        best, tied = search.ranking() if search.left else (None, [])
        self.listener.hear(
            PhaseBegan(entry.label, f"tried compilers {', '.join(map(describe, tried))}")
        )
        return self.record(entry, "compiler", best, tried, tied=tied)

    def with_largest_batch(self, entry: Entry) -> Entry:
        """`entry` with the largest batch whose steps run within a worker's memory limit."""
        if not entry.support.supported:
            raise CaseEnded(entry.lack, entry.support.reason)
        found = self.found_before(entry, "batch_size") or self.try_batches(entry)
        return replace(entry, case=replace(entry.case, batch_size=int(chosen(found))))

    def try_batches(self, entry: Entry) -> events.Search:
        environment, limit_bytes = self.environments.environment_for(entry), self.limit_bytes(1)
        tried: list[Tried] = []

        def fits(size: int) -> bool:
            self.listener.hear(PhaseBegan(entry.label, f"trying batch {size}"))
            trial = try_case(
                size,
                entry,
                environment,
                replace(entry.case, batch_size=size),
                log=self.log(entry),
                timeout=self.context.launch.timeout_seconds,
                launcher=self.context.launcher,
                limit_bytes=limit_bytes,
                device_memory=self.context.device_memory,
            )
            self.listener.hear(PhaseBegan(entry.label, f"tried batch {describe(trial)}"))
            tried.append(trial)
            return trial.outcome == "ok"

        size = largest(fits, start=resolve(entry.case).usual_batch(entry.case.device))
        return self.record(entry, "batch_size", size or None, tried)

    def limit_bytes(self, candidates: int) -> int | None:
        """The memory limit of a worker: workers that run side by side share the memory."""
        asked = self.context.launch.memory_limit_bytes
        together = len(self.comparison.entries) if self.protocol.side_by_side else 1
        workers = max(together, candidates)
        if self.comparison.entries[0].case.device == "cpu":
            return self.host_limit_bytes(asked, workers=workers)
        return (
            self.context.device_memory.limit_bytes(asked, workers=workers)
            if self.context.device_memory
            else asked
        )

    def host_limit_bytes(self, asked: int | None, *, workers: int) -> int:
        """The limit of each of `workers` on the CPU. On other nodes it is that of each process, by
        all memory of the smallest node; what is free there is known to its agent, and limits it
        further.
        """
        there = machines(self.context.launcher)
        if "" in there:
            return worker_limit_bytes(asked, workers=workers)
        scale = self.comparison.entries[0].case.parsed_scale
        used = islice(there.values(), scale.nodes)
        least = min(machine.system.memory_bytes for machine in used)
        share = int(least * SHARE / workers / scale.devices_per_node)
        return share if asked is None else min(asked, share)

    def log(self, entry: Entry) -> Path:
        """The log file of the next worker."""
        self.logs += 1
        return self.store.log_path(f"{entry.number:03}-{entry.spec.name}-trial-{self.logs}.log")

    def found_before(self, entry: Entry, what: str) -> events.Search | None:
        """The result that the same run had found before it was interrupted."""
        at = (self.comparison.number, entry.label, what)
        for one in self.context.earlier.searches if self.context.earlier else ():
            if (one.comparison, one.label, one.what) == at:
                return one
        return None

    def record(
        self,
        entry: Entry,
        what: str,
        value: int | str | None,
        tried: list[Tried],
        *,
        tied: Sequence[str] = (),
    ) -> events.Search:
        """Store the choice with everything that was tried."""
        found = events.Search(
            comparison=self.comparison.number,
            label=entry.label,
            what=what,
            chosen=value,
            tied=list(tied),
            tried=tried,
        )
        self.store.append(found)
        return found


def chosen(found: events.Search) -> int | str:
    """The value that was chosen; raises CaseEnded if nothing ran."""
    if found.chosen is not None:
        return found.chosen
    worst = next((t for t in reversed(found.tried) if t.outcome != "unsupported"), found.tried[-1])
    what = found.what.replace("_", " ")
    raise CaseEnded(worst.outcome, f"{what} {worst.value}: {worst.reason}")


def of_candidate(name: str, one: Candidate) -> Tried:
    if one.end:
        return Tried(value=name, outcome=one.end.outcome, reason=one.end.reason)
    return Tried(
        value=name,
        step_seconds=geometric_mean(one.processes),
        peak_bytes=one.peak_bytes or None,
        processes=one.processes,
    )
