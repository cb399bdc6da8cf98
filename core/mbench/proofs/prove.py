"""Makes proofs of cases side by side, or recalls them from the cache."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from mbench.contract.axes import name
from mbench.contract.reading import Malformed
from mbench.engine import local
from mbench.engine.jobs import thread_pool
from mbench.engine.memory import device_memory_of, worker_limit_bytes
from mbench.engine.outcome import CaseEnded
from mbench.errors import MbenchError
from mbench.machine import durations
from mbench.machine.cores import hardware_threads
from mbench.proofs import cache
from mbench.proofs.observer import ProofRequest, Proving, WorkerPool
from mbench.proofs.prover import Prover
from mbench.results.proof import ProofRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from mbench.contract.adapter import Adapter
    from mbench.contract.case import Case
    from mbench.engine.jobs import Jobs
    from mbench.engine.memory import DeviceMemory
    from mbench.environments.environment import Environment
    from mbench.plugins.launcher import Launcher
    from mbench.proofs.judge import CheckResult

__all__ = ["Verifier", "prove"]

News: TypeAlias = "Proving | CheckResult | ProofRecord | CaseEnded"
"""What is being done, a check that failed, and finally the proof, or why there is none."""
Item: TypeAlias = "tuple[ProofRequest, News] | None"


class Verifier:
    """Proves cases in parallel, as many at once as cores and memory allow.

    Workers for operators wait for the next request until the verifier is closed.
    """

    def __init__(
        self,
        launcher: Launcher = local.start,
        *,
        timeout: float,
        fresh: bool = False,
        quick: bool = False,
    ) -> None:
        """`fresh`: recall nothing; `quick`: end each proof with its first failure."""
        self.launcher = launcher
        self.timeout = timeout
        self.fresh = fresh
        self.quick = quick
        self._stack = ExitStack()
        self._pool = self._stack.enter_context(closing(WorkerPool()))

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def verify(self, requests: Sequence[ProofRequest]) -> Iterator[tuple[ProofRequest, News]]:
        """News of each request as it arrives, and its result, in the order of requests."""
        news: SimpleQueue[Item] = SimpleQueue()
        known: dict[ProofRequest, ProofRecord | CaseEnded] = {}
        provers: dict[ProofRequest, Prover] = {}
        for request in requests:
            try:
                prover = self._prover(request, news)
            except (CaseEnded, MbenchError, Malformed) as error:
                known[request] = CaseEnded.of(error)
                continue
            remembered = None if self.fresh else cache.recall(prover.name)
            if remembered is not None:
                known[request] = replace(remembered, remembered=True)
            else:
                provers[request] = prover
        work = work_of(provers.values())
        for request in provers:
            said = f"proving, which is done once: {durations.foretold(cache.folder(), work)}"
            news.put((request, Proving(said)))
        began, proven = time.monotonic(), 0
        memory = device_memory_of(requests[0].case, self.launcher) if requests else None
        workers = at_once(provers.values(), memory)
        if memory is not None:
            for prover in provers.values():
                prover.memory_limit_bytes = memory.limit_bytes(None, workers=workers)
        with ExitStack() as stack:
            self._stack.callback(stack.close)  # in case the iteration is left early
            collecting = stack.enter_context(thread_pool(1))
            jobs = stack.enter_context(thread_pool(workers))
            for prover in provers.values():
                prover.begin(jobs)
            results = ((r, known[r] if r in known else made(provers[r], jobs)) for r in requests)
            collected = collecting.once("results", partial(put_all, results, news))
            while (item := news.get()) is not None:
                proven += item[0] in provers and isinstance(item[1], ProofRecord)
                yield item
            collected.result()
        if provers and proven == len(provers):
            durations.keep(cache.folder(), work, time.monotonic() - began)

    def _prover(self, request: ProofRequest, news: SimpleQueue[Item]) -> Prover:
        return Prover(
            request,
            launcher=self.launcher,
            timeout=self.timeout,
            fresh=self.fresh,
            quick=self.quick,
            pool=self._pool,
            hear=lambda what: news.put((request, what)),
        )


def work_of(provers: Iterable[Prover]) -> str:
    """A key for the duration of these proofs: the same for the same cases, if the same parts of
    them are remembered. It does not depend on versions or code.
    """
    return "\n".join(sorted(
        f"{prover.adapter.name}: {name(prover.timed)}: "
        f"{'whole' if prover.fresh or cache.recall(prover.exact_name) is None else 'rest'}"
        for prover in provers
    ))  # fmt: skip


def put_all(results: Iterable[tuple[ProofRequest, News]], news: SimpleQueue[Item]) -> None:
    """Put all results into the queue, followed by None."""
    try:
        for result in results:
            news.put(result)
    finally:
        news.put(None)


def made(prover: Prover, jobs: Jobs) -> ProofRecord | CaseEnded:
    """Wait for the proof and store it; returns its record, or why there is none."""
    try:
        proof = prover.proof(jobs)
    except (CaseEnded, MbenchError, Malformed) as error:
        return CaseEnded.of(error)
    cache.remember(prover.name, proof)
    return proof.record()


def at_once(provers: Collection[Prover], memory: DeviceMemory | None) -> int:
    """How many workers can prove at once: one per core, as far as memory allows.

    On a device, its own memory counts, and one worker is the limit if its compute mode allows no
    second process.
    """
    if memory is not None and memory.for_one:
        return 1
    free = worker_limit_bytes(None) if memory is None else memory.limit_bytes(None, workers=1)
    most = max((prover.needed_bytes for prover in provers), default=1.0)
    return max(1, min(hardware_threads(), int(free // most)))


def prove(
    adapter: Adapter,
    environment: Environment,
    case: Case,
    *,
    log: Path,
    timeout: float,
    report: Callable[[str], None],
    fresh: bool = False,
    quick: bool = False,
) -> ProofRecord:
    """One case's proof; phases and failures are passed to `report`. Raises CaseEnded."""
    request = ProofRequest(adapter=adapter, environment=environment, case=case, log=log)
    with Verifier(timeout=timeout, fresh=fresh, quick=quick) as verifier:
        for _, found in verifier.verify([request]):
            if isinstance(found, CaseEnded):
                raise found
            if isinstance(found, ProofRecord):
                return found
            report(str(found))
    raise AssertionError("a proof without a result")
