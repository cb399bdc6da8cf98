"""Several processes that act as one worker: all are asked, and all must answer."""

from __future__ import annotations

import select
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.engine import single
from mbench.engine.jobs import look
from mbench.engine.outcome import CaseEnded
from mbench.engine.worker import WorkerBase

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from mbench.engine.node import Node
    from mbench.engine.single import SingleWorker

__all__ = ["WorkerGroup", "named"]

LOOK_SECONDS = 0.3
GRACE_SECONDS = 5.0
"""How long other processes may go on once one has failed: they may wait for it in vain."""

T = TypeVar("T")


class WorkerGroup(WorkerBase):
    """The processes of one case, by rank. The first that fails ends them all."""

    def __init__(self, workers: Sequence[SingleWorker]) -> None:
        self.workers = workers
        self.log = workers[0].log
        self.processes = tuple(process for one in workers for process in one.processes)
        self._timeout = workers[0].timeout

    def ask(self, message: object, answer: type[T], *, timeout: float | None = None) -> T:
        return self.ask_all(message, answer, timeout=timeout)[0]

    def ask_all(self, message: object, answer: type[T], *, timeout: float | None = None) -> list[T]:
        return self._exchange(lambda _: message, answer, timeout)

    def start(self, message: wire.Start) -> FrameworkInfo:
        """The first process's description; all must have the same versions."""
        peers = [one.address for one in self.workers]

        def start_of(worker: SingleWorker) -> wire.Start:
            return replace(message, place=replace(worker.rank_info, peers=peers))

        found = self._exchange(start_of, FrameworkInfo, None)
        for worker, info in zip(self.workers, found, strict=True):
            if difference := unlike(found[0], info):
                self.kill()
                raise of(worker, CaseEnded("failed", difference))
        return found[0]

    def run(
        self, count: int, *, each: bool = False, lead: int = 0, timeout: float | None = None
    ) -> wire.Elapsed:
        """The slowest process's times; with `each`, those of the slowest one at every step."""
        begin = time.perf_counter_ns()
        message = wire.TimeSteps(count=count, each=each, lead=lead)
        found = self.ask_all(message, wire.Elapsed, timeout=timeout)
        waited = time.perf_counter_ns() - begin
        for worker, elapsed in zip(self.workers, found, strict=True):
            with named(worker):
                try:
                    worker.check(elapsed, due=count if each else 1, waited=waited)
                except CaseEnded:
                    self.kill()
                    raise
        times = [elapsed.nanoseconds for elapsed in found]
        slowest = [max(of_step) for of_step in zip(*times, strict=True)]
        # The clocks of different machines are unrelated; ours is the one that is stored.
        start = found[0].start_nanoseconds if not self.processes[0].host else begin
        marks = {
            name: [
                max(of_step) for of_step in zip(*(one.marks[name] for one in found), strict=True)
            ]
            for name in found[0].marks
        }
        return wire.Elapsed(
            start_nanoseconds=start, nanoseconds=slowest, ranks=times, marks=marks,
            stops=max(elapsed.stops for elapsed in found),
        )  # fmt: skip

    def _exchange(
        self, message: Callable[[SingleWorker], object], answer: type[T], timeout: float | None
    ) -> list[T]:
        """Ask each and wait for all.

        Raises CaseEnded for the first that fails. Unless all have answered, all are ended.
        """
        limit = self._timeout if timeout is None else timeout
        answered = False
        try:
            for worker in self.workers:
                with named(worker):
                    worker.tell(message(worker), timeout=limit)
            found, ends = self._hear(answer, limit)
            answered = True
        finally:  # after Ctrl-C too
            if not answered:
                self.kill()
        if ends:
            alike = len({end.reason for _, end in ends}) == 1 and not found
            worker, end = ends[0]
            raise end if alike else of(worker, end)
        return [found[at] for at in range(len(self.workers))]

    def _hear(
        self, answer: type[T], limit: float
    ) -> tuple[dict[int, T], list[tuple[SingleWorker, CaseEnded]]]:
        """Answers by rank, and the failures that processes survived, in chronological order."""
        found: dict[int, T] = {}
        failed: list[tuple[SingleWorker, CaseEnded]] = []
        deadline = self.clock() + limit
        poll = select.poll()
        whose = {fd: at for at, worker in enumerate(self.workers) for fd in worker.awaited}
        for descriptor in whose:
            poll.register(descriptor, select.POLLIN)
        unheard = set(whose.values())
        while unheard:
            for at in sorted({whose[fd] for fd, _ in poll.poll(1e3 * LOOK_SECONDS)}):
                worker = self.workers[at]
                for descriptor in worker.awaited:
                    poll.unregister(descriptor)
                unheard.discard(at)
                try:
                    found[at] = worker.hear(answer, timeout=limit)
                except CaseEnded as end:
                    if worker.over:
                        said = failed and not worker.lost
                        cause, end = failed[0] if said else (worker, end)
                        raise of(cause, end) from None
                    failed.append((worker, end))
                    deadline = min(deadline, self.clock() + GRACE_SECONDS)
            if unheard and self.clock() > deadline:
                raise of(*failed[0]) if failed else self._late(unheard, limit)
            for worker in self.workers:
                with named(worker):
                    worker.meanwhile()
            look()
        return found, failed

    def clock(self) -> float:
        """The clock of the worker whose machine was away longest: the others wait for it."""
        return min(worker.clock() for worker in self.workers)

    def _late(self, unheard: Collection[int], limit: float) -> CaseEnded:
        first = self.workers[min(unheard)]
        who = "any rank" if len(unheard) == len(self.workers) else title(first)
        reason = f"no answer from {who} within {limit:g} s"
        return CaseEnded("timeout", reason, log=first.log)

    @property
    def nodes(self) -> Mapping[Node, Sequence[int]]:
        found: dict[Node, list[int]] = {}
        for worker in self.workers:
            for node, keys in worker.nodes.items():
                found.setdefault(node, []).extend(keys)
        return found

    def allowed_bytes(self) -> int:
        """The limit on the machine that has the least memory per process."""
        if not any(process.host for process in self.processes):
            return super().allowed_bytes()
        least = min(worker.allowed_bytes() for worker in self.workers)
        asked = self.memory_limit_bytes
        return least if asked is None else min(asked, least)

    def stop(self) -> None:
        for worker in self.workers:
            worker.announce("stop")
        for worker in self.workers:
            worker.stop()

    def resume(self) -> None:
        for worker in self.workers:
            worker.announce("resume")
        for worker in self.workers:
            worker.resume()

    def close(self) -> None:
        try:
            self.resume()
            if not any(worker.over for worker in self.workers):
                with suppress(CaseEnded):
                    self.ask_all(wire.Close(), wire.Closed, timeout=single.GOODBYE_SECONDS)
        finally:  # a second Ctrl-C must not wait
            self.kill()

    def kill(self) -> None:
        for worker in self.workers:
            worker.announce("kill")
        for worker in self.workers:
            worker.kill()


@contextmanager
def named(worker: SingleWorker) -> Iterator[None]:
    """A failure in the block says which rank it was."""
    try:
        yield
    except CaseEnded as end:
        raise of(worker, end) from None


def of(worker: SingleWorker, end: CaseEnded) -> CaseEnded:
    """`end` with the rank of the worker."""
    if worker.rank_info.ranks == 1:
        return end
    who = f"rank {worker.rank_info.rank} of {worker.rank_info.ranks}"
    return CaseEnded(end.outcome, f"{title(worker, who)}: {end.reason}", log=end.log)


def title(worker: SingleWorker, who: str = "") -> str:
    """A worker's rank, in the words of `who` if given, and its host if that is not this machine."""
    host = worker.processes[0].host
    return (who or f"rank {worker.rank_info.rank}") + (f" on {host}" if host else "")


def unlike(one: FrameworkInfo, other: FrameworkInfo) -> str:
    """The first difference in versions; empty if there is none."""
    versions, others = ({"the framework": i.version, **i.versions} for i in (one, other))
    for name in {**versions, **others}:
        first, second = versions.get(name, "none"), others.get(name, "none")
        if first != second:
            here = f"its version of {name} is {second}, but that of rank 0 is {first}"
            return f"{here}; install the same version on both"
    return ""
