"""A worker of one process, wherever it runs: questions, answers, and its end."""

from __future__ import annotations

import contextlib
import time
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.contract.reading import Malformed
from mbench.engine.jobs import look
from mbench.engine.outcome import CaseEnded
from mbench.engine.worker import WorkerBase
from mbench.machine.absence import awake

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mbench.contract.rank import RankInfo
    from mbench.engine.transport import Channel

__all__ = ["SingleWorker"]

GOODBYE_SECONDS = 2.0

T = TypeVar("T")


class SingleWorker(WorkerBase):
    """One process behind a channel; subclasses say where it runs."""

    rank_info: RankInfo
    address: str
    """Where its framework may listen for other processes, as "address:port"."""
    _channel: Channel
    timeout: float
    """Longest wait for an answer, in seconds, unless a question sets its own."""
    _stopped = False
    _leaving = False
    """Whether it was asked to end."""

    def greet(self) -> None:
        """Wait for its first message; an interrupted wait ends the process. Raises CaseEnded."""
        try:
            with self._answering(self.timeout):
                self._channel.receive(wire.Hello, seconds=self.timeout)
        except BaseException:  # even Ctrl-C must not leave a process
            self.kill()
            raise

    def tell(self, message: object, *, timeout: float | None = None) -> None:
        """Send `message` without waiting for the answer, which `hear` returns; raises CaseEnded."""
        assert not self._stopped, "a stopped worker cannot answer"
        if self.over:  # in answer to an earlier question
            raise CaseEnded("failed", "its worker has already ended", log=self.log)
        self._leaving = isinstance(message, wire.Close)
        if not self._leaving:
            look()  # short questions are answered before `meanwhile` is called
        limit = self.timeout if timeout is None else timeout
        with self._answering(limit):
            self._channel.send(message, seconds=limit)

    def hear(self, answer: type[T], *, timeout: float | None = None) -> T:
        """The answer to the last message; raises CaseEnded."""
        limit = self.timeout if timeout is None else timeout
        with self._answering(limit):
            reply = self._channel.receive(answer, seconds=limit)
        if isinstance(reply, wire.Failure):
            raise CaseEnded(reply.outcome, reply.reason, log=self.log)
        return reply

    def ask(self, message: object, answer: type[T], *, timeout: float | None = None) -> T:
        self.tell(message, timeout=timeout)
        return self.hear(answer, timeout=timeout)

    def ask_all(self, message: object, answer: type[T], *, timeout: float | None = None) -> list[T]:
        return [self.ask(message, answer, timeout=timeout)]

    def start(self, message: wire.Start) -> FrameworkInfo:
        return self.ask(replace(message, place=self.rank_info), FrameworkInfo)

    def run(
        self, count: int, *, each: bool = False, lead: int = 0, timeout: float | None = None
    ) -> wire.Elapsed:
        begin = time.perf_counter_ns()
        message = wire.TimeSteps(count=count, each=each, lead=lead)
        elapsed = self.ask(message, wire.Elapsed, timeout=timeout)
        self.check(elapsed, due=count if each else 1, waited=time.perf_counter_ns() - begin)
        return elapsed

    def check(self, elapsed: wire.Elapsed, *, due: int, waited: int) -> None:
        """Raises CaseEnded and ends the worker if its times are impossible."""
        times = elapsed.nanoseconds
        if len(times) != due:
            raise self._nonsense(f"{len(times)} durations instead of {due}")
        if sum(times) > waited:
            raise self._nonsense("durations longer than the wait for them")

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._channel.closed

    @property
    def lost(self) -> bool:
        """Whether its machine is lost, which may be why other workers have failed."""
        return False

    @property
    def awaited(self) -> Collection[int]:
        """Descriptors that are readable once it has answered or ended."""
        return self._channel.awaited

    @contextlib.contextmanager
    def _answering(self, limit: float) -> Iterator[None]:
        """Errors of the channel in the block end the worker and become CaseEnded."""
        try:
            yield
        except TimeoutError:
            raise self._end("timeout", self._late(limit)) from None
        except Malformed as error:
            raise self._nonsense(error) from None
        except EOFError:
            raise self._gone() from None

    def _late(self, limit: float) -> str:
        """The reason if no answer came in time."""
        return f"no answer within {limit:g} s"

    def clock(self) -> float:
        """Seconds on a clock that stands still while it cannot answer because mbench or its machine
        is away.
        """
        return awake()

    def _end(self, outcome: str, reason: str) -> CaseEnded:
        self.kill()
        return CaseEnded(outcome, reason, log=self.log)

    def _nonsense(self, what: object) -> CaseEnded:
        return self._end("failed", f"the worker sent an invalid answer: {what}")

    @abstractmethod
    def _gone(self) -> CaseEnded:
        """How it ended on its own."""

    def announce(self, what: str) -> None:
        """Announce `stop`, `resume` or `kill` if they take time, so that all workers of a group are
        told before any of them is waited for.
        """

    def meanwhile(self) -> None:
        """Called now and then while an answer is awaited."""

    @abstractmethod
    def _leaves(self) -> bool:
        """Whether it ends on its own within a moment."""

    def close(self) -> None:
        try:
            self.resume()
            if not self.over:
                with contextlib.suppress(CaseEnded):
                    self.ask(wire.Close(), wire.Closed, timeout=GOODBYE_SECONDS)
                    self._leaves()
        finally:  # a second Ctrl-C must not wait
            self.kill()
