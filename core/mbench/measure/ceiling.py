"""Measures the machine's ceiling: a framework's own matrix products and memory passes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from mbench.contract import wire
from mbench.contract.device import HOST
from mbench.contract.precision import PRECISIONS
from mbench.engine.outcome import CaseEnded
from mbench.engine.watching import undisturbed
from mbench.machine.processor_time import family, processor_seconds
from mbench.measure.activity import Notice, PhaseBegan
from mbench.plugins.launcher import pids_here
from mbench.proofs.judge import CheckResult, judge_along
from mbench.proofs.observer import ProofRequest, Proving
from mbench.results import clocks, events
from mbench.results.proof import ProofRecord
from mbench.scenarios.find import in_mode, work_of
from mbench.spec.planning import supports
from mbench.workloads.find import operator_case

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.case import Case
    from mbench.environments.environment import Environment
    from mbench.measure.activity import Listener
    from mbench.plugins.launcher import Worker
    from mbench.proofs.prove import Verifier
    from mbench.results.store import RunWriter
    from mbench.spec.planning import Entry

__all__ = ["Ceilings"]

PRODUCTS = (1024, 2048, 4096, 8192)
SIDES = {"matmul": PRODUCTS, "single": PRODUCTS, "add": (8192,)}
"""Sides of square matrices, tried while a step takes at most LONGEST_SECONDS. The largest takes
1.5 ms on an H100, far longer than a launch; eight batches of larger ones would take long to make.
"""
SINGLE = "single"
"""The single-precision product, measured besides half precision: it is faster on processors without
half-precision units, and frameworks use it there for some operators."""
ON_CPU = {**SIDES, "add": (2048,)}
"""Sides on the CPU, where malloc returns larger blocks to the system and steps would mostly be page
faults. Eight pairs used in turn still come from memory: 256 MiB in single precision."""
PRODUCT = "op:matmul/{0}x{0}x{0}"
NAMES = {"matmul": PRODUCT, "single": PRODUCT, "add": "op:add/{0}x{0}"}
LONGEST_SECONDS = 0.5
TIMES_THE_WORK = 8
"""How much more work a product takes when its sides are twice as long."""
BLOCK_SECONDS = 0.05
BLOCKS = 5
IDLE_LOOKS = 3
"""Looks at a large result, which some frameworks copy whole. The slowest counts: looks differ by up
to 0.35 s on an H100 (JAX) even when no work is going on.
"""
MEMORY_FACTOR = 3.0
"""A step on new inputs may take this many times as long as one in the fastest block."""
SUSTAINED_SECONDS = 1.0
SUSTAINED_BLOCK_SECONDS = 0.25
"""A GPU is faster at first than its power limit allows later."""


class Ceilings:
    """Each ceiling is measured once in a run: per framework, precision, device and threads.

    The worker that measures it has finished its case, so a ceiling needs no process of its own and
    shares none with timed steps.
    """

    def __init__(self, store: RunWriter, listener: Listener) -> None:
        self.store = store
        self.listener = listener
        self._known: set[tuple[str, ...]] = set()
        self._proven: dict[tuple[str, ...], str] = {}
        """Why each operator has no ceiling; empty if it is proven."""

    def has(self, entry: Entry) -> bool:
        return key(entry) in self._known

    def prove(self, entries: Sequence[tuple[Entry, Environment]], verifier: Verifier) -> None:
        """Prove products and sums of small matrices, each once, before anything is timed. An
        operator without a proof has no ceiling.
        """
        wanted: dict[ProofRequest, tuple[str, tuple[str, ...]]] = {}
        for entry, environment in entries:
            for operator in operators(entry):
                of_whom = (*key(entry), operator)
                case = case_of(entry, operator, sides_of(entry, operator)[0])
                if of_whom in self._proven or not supports(entry.adapter, case).supported:
                    continue
                self._proven[of_whom] = "not proven"
                log = self.store.log_path(f"{entry.number:03}-{entry.spec.name}-ceiling.log")
                request = ProofRequest(
                    adapter=entry.adapter, environment=environment, case=case, log=log
                )
                wanted[request] = entry.label, of_whom
        for request, found in verifier.verify(list(wanted)):
            label, of_whom = wanted[request]
            match found:
                case Proving(text):
                    self.listener.hear(PhaseBegan(label, text))
                case CheckResult():
                    self.listener.hear(Notice(str(found)))
                case ProofRecord(failures=failures):
                    self._proven[of_whom] = f"not-equal: {failures[0]}" if failures else ""
                case CaseEnded():
                    self._proven[of_whom] = str(found)

    def measure(self, entry: Entry, worker: Worker) -> None:
        """Measure all sizes; one that fails is recorded with its reason."""
        self._known.add(key(entry))
        for operator in operators(entry):
            found = self.grown(entry, worker, operator)
            if operator == "matmul" and entry.case.device != "cpu" and found:
                fastest = max(found, key=lambda one: one.amount * one.steps / min(one.nanoseconds))
                self.one(entry, worker, operator, fastest.size, sustained=True)

    def measure_products(self, entry: Entry, worker: Worker) -> None:
        """Time the matrix products again, in case they were disturbed. The fastest counts."""
        for operator in operators(entry):
            if operator != "add":
                self.grown(entry, worker, operator)

    def grown(self, entry: Entry, worker: Worker, operator: str) -> list[events.Ceiling]:
        """Measure growing sizes until one fails, or until the next would take too long. Returns
        those that succeeded.
        """
        found = []
        for side in sides_of(entry, operator):
            one = self.one(entry, worker, operator, side)
            if one.reason:
                break
            found.append(one)
            if TIMES_THE_WORK * min(one.nanoseconds) > one.steps * LONGEST_SECONDS * 1e9:
                break
        return found

    def one(
        self, entry: Entry, worker: Worker, operator: str, side: int, *, sustained: bool = False
    ) -> events.Ceiling:
        """Time, check and record one size."""
        case = case_of(entry, operator, side)
        found = events.Ceiling(
            case=entry.number, operator="sustained" if sustained else operator, size=side,
            reason=self._proven.get((*key(entry), operator), "") or "not timed",
        )  # fmt: skip
        if found.reason == "not timed":
            try:
                if not (support := supports(entry.adapter, case)).supported:
                    raise CaseEnded("unsupported", support.reason)
                blocks = self.twice(worker, case, sustained=sustained)
                error = check(worker, case)
            except CaseEnded as end:
                found = replace(found, reason=str(end))
            else:
                found = replace(
                    found, amount=amount(case), steps=blocks.steps, nanoseconds=blocks.nanoseconds,
                    processor_nanoseconds=blocks.of_thread(case), error=error, reason="",
                )  # fmt: skip
        self.store.append(found)
        return found

    def twice(self, worker: Worker, case: Case, *, sustained: bool) -> Blocks:
        """Time a few blocks. Measures again, once, if their times are implausible, as after a
        stall. Raises CaseEnded.
        """
        try:
            return self.time(worker, case, sustained=sustained)
        except Implausible:
            return self.time(worker, case, sustained=sustained)

    def time(self, worker: Worker, case: Case, *, sustained: bool) -> Blocks:
        """Time a few blocks once; raises CaseEnded, or its subclass Implausible."""
        batches = worker.prepare(case).batches
        worker.run(1)  # tuning and page faults
        look_seconds(worker)  # that step has finished now
        idle = max(look_seconds(worker) for _ in range(IDLE_LOOKS))
        unseen = float(undisturbed(worker, lambda: worker.run(1)).nanoseconds[0])
        seconds = unseen / 1e9
        if (left := look_seconds(worker) - idle) > clocks.most_left(seconds):
            raise Implausible(f"{left:.3g} s of work continued after synchronize")
        if batches > 2 and 2 + BLOCKS * BLOCK_SECONDS / seconds > batches:  # some will be reused
            unseen = worker.run(batches - 2).nanoseconds[0] / (batches - 2)
            seconds = unseen / 1e9
        # Otherwise steps that return early would make blocks far too long.
        seconds = max(seconds, left)
        if sustained:
            worker.run(max(1, round(SUSTAINED_SECONDS / seconds)))
        block_seconds = SUSTAINED_BLOCK_SECONDS if sustained else BLOCK_SECONDS
        steps = max(1, round(block_seconds / seconds))
        found = Blocks(steps, len(worker.processes))
        for _ in range(BLOCKS):
            with self.listener.quiet():
                found.add(*undisturbed(worker, lambda: clocked_block(worker, steps)))
        if (faster := unseen * steps / min(found.nanoseconds)) > MEMORY_FACTOR:
            raise Implausible(f"steps on repeated inputs were {faster:.3g} times as fast")
        return found


@dataclass
class Blocks:
    """Timed blocks of `steps` steps each."""

    steps: int
    processes: int
    nanoseconds: list[int] = field(default_factory=list)
    spent: list[int] = field(default_factory=list)
    """Nanoseconds of processor time, of all threads, in each block; 0 if unknown."""

    def add(self, nanoseconds: int, spent: int) -> None:
        self.nanoseconds.append(nanoseconds)
        self.spent.append(spent)

    def of_thread(self, case: Case) -> list[int]:
        """Mean processor nanoseconds per thread in each block; empty on devices or if unknown."""
        if case.device != HOST or not all(self.spent):
            return []
        return [round(one / (case.threads * self.processes)) for one in self.spent]


def clocked_block(worker: Worker, steps: int) -> tuple[int, int]:
    """Nanoseconds of a block, and the processor time that the worker and its descendants used; 0
    if the worker is on another machine.
    """

    def used() -> float:
        return processor_seconds(one for pid in pids_here(worker) for one in family(pid))

    before = used()
    (elapsed,) = worker.run(steps).nanoseconds
    return elapsed, round((used() - before) * 1e9)


class Implausible(CaseEnded):
    """The times are not those of the requested work."""

    def __init__(self, reason: str) -> None:
        super().__init__("not-equal", f"timed: {reason}")


def look_seconds(worker: Worker) -> float:
    """Seconds on the parent's clock until the last step's result is reported."""
    begin = perf_counter()
    worker.ask(wire.Look(), wire.Seen)
    return perf_counter() - begin


def check(worker: Worker, case: Case) -> float:
    """The error of the last timed step's complete result; raises CaseEnded if it is too large.

    The proof shows at a small size what the code computes. At the timed size, computing the
    definition in float64 would take longer than everything else. Multiplying by a random vector
    takes no longer than reading the result, and misses nothing: see `signs_of`.
    """
    seen = worker.ask(wire.Look(along=True), wire.Seen)
    found = judge_along(seen, case)
    if not found.passed:
        raise CaseEnded("not-equal", str(found))
    assert found.error is not None
    return found.error


def operators(entry: Entry) -> list[str]:
    """The operators that bound a case's speed; none for quantised cases, since the peak of integer
    operations is not measured.
    """
    if PRECISIONS[entry.case.precision].quantized:
        return []
    half = PRECISIONS[entry.case.precision].half
    return [operator for operator in SIDES if half or operator != SINGLE]


def sides_of(entry: Entry, operator: str) -> Sequence[int]:
    return (ON_CPU if entry.case.device == "cpu" else SIDES)[operator]


def case_of(entry: Entry, operator: str, side: int) -> Case:
    """An operator on square matrices. It uses the type of the precision's products, so that nothing
    is cast, or the mixed precision if that type is unsupported.
    """
    name = NAMES[operator].format(side)
    mixed = replace(
        in_mode(operator_case(entry.case, name), "inference"), seed=0,
        compiler=next(iter(entry.adapter.compilers)),
    )  # fmt: skip
    if operator == SINGLE:
        return replace(mixed, precision="fp32")
    pure = replace(mixed, precision=PRECISIONS[mixed.precision].pure)
    return pure if supports(entry.adapter, pure).supported else mixed


def amount(case: Case) -> int:
    """FLOPs of a matrix product; for an operator without FLOPs, the bytes that it moves."""
    work = work_of(case)
    found = work.flops_per_sample or work.bytes_per_sample
    assert found is not None
    return int(found)


def key(entry: Entry) -> tuple[str, ...]:
    case = entry.case
    return entry.spec.text, case.precision, case.device, str(case.threads)
