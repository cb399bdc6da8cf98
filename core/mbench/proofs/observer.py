"""A case to be proven, run at small size by workers, and what they report."""

from __future__ import annotations

import threading
from concurrent.futures import wait
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mbench.contract import wire
from mbench.contract.axes import key
from mbench.contract.scenario import GRADIENTS, LOSS, RULE
from mbench.engine.jobs import look, thread_pool
from mbench.engine.launch import launch
from mbench.engine.outcome import CaseEnded
from mbench.proofs.changes import visible_rate
from mbench.proofs.proof_case import exact_case, proof_case, proof_work
from mbench.proofs.reference import (
    DRAWN,
    PLAIN_RATE,
    STEPS,
    Computed,
    Reference,
    batch_of,
    find,
    how_to_write,
)
from mbench.results.proof import PROVEN, SHOWN
from mbench.scenarios.find import resolve, scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from pathlib import Path

    from mbench.contract.adapter import Adapter, FrameworkInfo
    from mbench.contract.case import Case, ProofWork
    from mbench.contract.scenario import Scenario
    from mbench.contract.workload import Workload
    from mbench.environments.environment import Environment
    from mbench.plugins.launcher import Launcher, Worker
    from mbench.proofs.judge import CheckResult

    Launched: TypeAlias = tuple[Worker, FrameworkInfo]

__all__ = ["Observer", "ProofRequest", "Proving", "WorkerPool"]


@dataclass(frozen=True, kw_only=True, eq=False)
class ProofRequest:
    """A case to be proven; `log` is the file of its workers' output."""

    adapter: Adapter
    environment: Environment
    case: Case
    log: Path


class Proving(NamedTuple):
    """What is being proven now."""

    text: str

    def __str__(self) -> str:
        return self.text


class Observer:
    """Makes workers run one case in float64 and as it is timed, without judging the results."""

    def __init__(
        self,
        request: ProofRequest,
        *,
        launcher: Launcher,
        timeout: float,
        pool: WorkerPool,
        hear: Callable[[Proving | CheckResult], None],
    ) -> None:
        """`hear` is called from threads."""
        self.adapter = request.adapter
        self.environment = request.environment
        self.timed = proof_case(request.case)
        self.scenario: Scenario = scenario_of(self.timed)
        self.work = proof_work(request.case)
        self.workload: Workload = resolve(self.timed, self.work)
        self.log = request.log
        self.timeout = timeout
        self.launcher = launcher
        self.pool = pool
        self.hear = hear
        self.memory_limit_bytes: int | None = None
        """The memory limit of each worker on a device."""
        self.version = ""
        self.notes: list[str] = []
        if not request.case.clip and self.workload.optimizer.clip_norm is not None:
            self.notes.append("proven with clipping, which the timed step leaves out")
        self.exact = exact_case(self.adapter, self.timed)
        self.grade = PROVEN if self.exact.precision == "fp64" else SHOWN
        self.known = find(self.timed, self.workload, drawn=self.grade == SHOWN)
        if self.grade == SHOWN:
            self.demand_outputs()
        elif self.exact.compiler != self.timed.compiler:
            self.notes.append(
                f"{self.timed.compiler} has no fp64 here: proven under {self.exact.compiler}"
            )

    def demand_outputs(self) -> None:
        """Raise CaseEnded if outputs in fp32 cannot replace a proof in float64."""
        limitation = f"{self.adapter.title} has no float64 for {self.workload.name} here"
        if self.scenario.proof == RULE:
            raise CaseEnded("unsupported", f"{limitation}, but updates are proven in float64")
        if len(self.known.outputs) < len(DRAWN):
            reason = (
                f"{limitation}, and its reference file has too few outputs for another proof; "
                f"write it again with: {how_to_write(self.workload)}"
            )
            raise CaseEnded("unsupported", reason)
        if self.scenario.proof in (LOSS, GRADIENTS):
            raise CaseEnded("unsupported", f"{limitation}, but gradients are proven in float64")
        self.notes.append(limitation)
        if self.scenario.updates:
            self.notes.append(f"updates are compared only in {self.timed.precision}")

    @property
    def reference(self) -> Reference:
        """The reference of a model in training."""
        assert isinstance(self.known, Reference)
        return self.known

    @cached_property
    def visible(self) -> float:
        """The rate at which a step of plain descent is visible in every precision."""
        return visible_rate(self.workload, self.reference.plain.tensors, PLAIN_RATE)

    @property
    def subject(self) -> str:
        """What is proven, for progress."""
        if self.scenario.proof in (LOSS, GRADIENTS):
            return f"the {self.timed.mode} phase"
        return self.workload.name if isinstance(self.known, Computed) else "outputs"

    @property
    def passes(self) -> int:
        """How often outputs are observed on the same batch: twice with a cache, which might
        continue from its last position.
        """
        return 2 if self.scenario.caches else 1

    def report(self, text: str) -> None:
        self.hear(Proving(text))

    @contextmanager
    def worker(self, case: Case, log: Path) -> Iterator[Worker]:
        """A new worker for a model, which may be large; workers for operators are reused."""
        start = partial(
            launch, self.adapter, self.environment, case, log=log, timeout=self.timeout,
            memory_limit_bytes=self.memory_limit_bytes, launcher=self.launcher,
        )  # fmt: skip
        if isinstance(self.known, Computed):
            alike = key(case, less={"model", "mode", "sizes", "batch_size"})
            of_whom = (self.adapter.name, str(self.environment.python), *alike)
            with self.pool.worker(of_whom, start) as (worker, info):
                self.version = info.version
                yield worker
            return
        worker, info = start()
        self.version = info.version
        with closing(worker):
            yield worker

    def observe(
        self,
        worker: Worker,
        case: Case,
        *,
        work: ProofWork | None = None,
        seeds: tuple[int, ...] = (0,),
        steps: int = STEPS,
        in_turn: bool = False,
        masked: Sequence[str] = (),
    ) -> list[wire.Observation]:
        worker.prepare(case, load=False, work=work or self.work)
        computed = isinstance(self.known, Computed)
        return [
            worker.ask(
                wire.Observe(
                    seed=seed,
                    steps=steps,
                    batch=batch_of(seed) if computed else 0,
                    in_turn=in_turn,
                    masked=list(masked),
                ),
                wire.Observation,
            )
            for seed in seeds
        ]


MOST = 64
"""Most workers in a pool."""
LOOK_SECONDS = 0.2


class WorkerPool:
    """Reuses workers between proofs: for small models start-up dominates.

    A worker ends with the thread that started it. These workers outlive the threads of proofs, so
    they have threads of their own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[Hashable, list[Launched]] = {}
        self._stack = ExitStack()
        self._jobs = self._stack.enter_context(thread_pool(MOST))
        self._numbers = count()

    @contextmanager
    def worker(self, key: Hashable, launch: Callable[[], Launched]) -> Iterator[Launched]:
        """An idle worker, or a new one; a worker is not reused after a failed proof."""
        with self._lock:
            waiting = self._idle.get(key)
            launched = waiting.pop() if waiting else None
        if launched is None:
            starting = self._jobs.once(f"{next(self._numbers)}", launch)
            while wait([starting], LOOK_SECONDS).not_done:
                look()
            launched = starting.result()
        try:
            yield launched
        except BaseException:
            launched[0].kill()
            raise
        with self._lock:
            self._idle.setdefault(key, []).append(launched)

    def close(self) -> None:
        """End all idle workers."""
        with self._lock:
            for waiting in self._idle.values():
                for worker, _ in waiting:
                    worker.close()
            self._idle.clear()
        self._stack.close()
