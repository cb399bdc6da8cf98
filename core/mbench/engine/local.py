"""Workers that are one process of this machine, in a group of its own, behind a private pipe."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from mbench.contract import wire
from mbench.contract.adapter import FrameworkInfo
from mbench.contract.outcome import speaks_of_memory
from mbench.contract.reading import Malformed
from mbench.engine import scratch
from mbench.engine.channel import Channel
from mbench.engine.ending import bound, end_of, ending, has_ended, last_line
from mbench.engine.kin import VARIABLE, Kin
from mbench.engine.outcome import CaseEnded
from mbench.engine.steady import steadily
from mbench.engine.together import look
from mbench.engine.worker import Process, Worker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mbench.contract.place import Place
    from mbench.engine.program import Program

__all__ = ["LocalWorker", "start"]

GOODBYE_SECONDS = 2.0
KILL_SECONDS = 10.0
"""Of waiting for what cannot be killed while it hangs in the kernel."""

T = TypeVar("T")


def start(program: Program, places: Sequence[Place], /) -> LocalWorker:
    """The launcher "local". More than one place is not there yet."""
    (place,) = places
    return LocalWorker(program, place)


class LocalWorker(Worker):
    """One process. Its number stays ours until it is waited for, which `kill` alone does."""

    def __init__(self, program: Program, place: Place) -> None:
        """Start `program`; raises CaseEnded unless it says hello."""
        self.log = program.log
        self._timeout = program.timeout_seconds
        self._place = place
        self._stopped = False
        self._kin = Kin()
        program.log.parent.mkdir(parents=True, exist_ok=True)
        worker_reads, requests = os.pipe()
        replies, worker_writes = os.pipe()
        try:
            threads = program.steady_threads
            how = steadily(threads) if threads else contextlib.nullcontext()
            with program.log.open("ab") as output, how:
                self.process = subprocess.Popen(
                    program.command(str(os.getpid()), str(worker_reads), str(worker_writes)),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(worker_reads, worker_writes),
                    env={
                        **os.environ,
                        **scratch.variables(),
                        **program.variables,
                        VARIABLE: self._kin.mark,
                    },
                )
            self._watcher = self._kin.watcher(self.process.pid, worker_reads)
        except BaseException as error:  # Ctrl-C too must leave no pipe open
            os.close(requests)
            os.close(replies)
            if not isinstance(error, OSError):
                raise
            reason = f"{program.python} does not start: {error}"
            raise CaseEnded("failed", reason, log=self.log) from None
        finally:
            os.close(worker_reads)
            os.close(worker_writes)
        pid = self.process.pid
        self._channel = Channel(
            sends=requests, receives=replies, ends=end_of(pid), meanwhile=self._meanwhile
        )
        self.processes = (Process(pid=pid),)
        try:
            with self._answering(self._timeout):
                self._channel.receive(wire.Hello, seconds=self._timeout)
        except BaseException:  # Ctrl-C too must leave no process
            self.kill()
            raise

    def _meanwhile(self) -> None:
        bound(self.log)
        look()

    def ask(self, message: object, answer: type[T], *, timeout: float | None = None) -> T:
        assert not self._stopped, "a stopped worker cannot answer"
        assert not self._channel.closed, "a worker that was ended cannot answer"
        limit = self._timeout if timeout is None else timeout
        with self._answering(limit):
            self._channel.send(message, seconds=limit)
            reply = self._channel.receive(answer, seconds=limit)
        if isinstance(reply, wire.Failure):
            raise CaseEnded(reply.outcome, reply.reason, log=self.log)
        return reply

    def ask_all(self, message: object, answer: type[T], *, timeout: float | None = None) -> list[T]:
        return [self.ask(message, answer, timeout=timeout)]

    def start(self, message: wire.Start) -> FrameworkInfo:
        return self.ask(replace(message, place=self._place), FrameworkInfo)

    def run(self, count: int, *, each: bool = False, timeout: float | None = None) -> wire.Elapsed:
        begin = time.perf_counter_ns()
        message = wire.TimeSteps(count=count, each=each)
        elapsed = self.ask(message, wire.Elapsed, timeout=timeout)
        waited = time.perf_counter_ns() - begin
        due, times = count if each else 1, elapsed.nanoseconds
        if len(times) != due:
            raise self._nonsense(f"{len(times)} durations, where {due} are due")
        if sum(times) > waited:
            raise self._nonsense("durations longer than the wait for them")
        return elapsed

    @contextlib.contextmanager
    def _answering(self, limit: float) -> Iterator[None]:
        """What goes wrong on the channel ends the worker, by a typed outcome."""
        try:
            yield
        except TimeoutError:
            raise self._end("timeout", f"no answer within {limit:g} s") from None
        except Malformed as error:
            raise self._nonsense(error) from None
        except EOFError:
            raise self._gone() from None

    def _end(self, outcome: str, reason: str) -> CaseEnded:
        self.kill()
        return CaseEnded(outcome, reason, log=self.log)

    def _nonsense(self, what: object) -> CaseEnded:
        return self._end("failed", f"the worker answered nonsense: {what}")

    def _gone(self) -> CaseEnded:
        """How it ended. It is waited for first: what we kill would not tell."""
        if not self._ends_within(GOODBYE_SECONDS):
            return self._end("failed", "the worker closed its pipe, and did not end")
        self.kill()
        reason = f"the worker {ending(self.process.returncode)}"
        if said := last_line(self.log):
            reason += f"; its last words: {said}"
        outcome = "oom" if speaks_of_memory(said) else "crashed"
        return CaseEnded(outcome, reason, log=self.log)

    def stop(self) -> None:
        if not self._stopped:
            self._signal(signal.SIGSTOP)
            self._kin.signal(signal.SIGSTOP)
            self._stopped = True

    def resume(self) -> None:
        if self._stopped:
            self._kin.signal(signal.SIGCONT)
            self._signal(signal.SIGCONT)
            self._stopped = False

    def close(self) -> None:
        try:
            self.resume()
            if not self._channel.closed:
                with contextlib.suppress(CaseEnded):
                    self.ask(wire.Close(), wire.Closed, timeout=GOODBYE_SECONDS)
                    self._ends_within(GOODBYE_SECONDS)
        finally:  # whoever presses Ctrl-C again wants no goodbyes
            self.kill()

    def kill(self) -> None:
        self._watcher.kill()  # it knows numbers only, which may soon be another process's
        self._watcher.wait()
        self._signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(KILL_SECONDS)
        self._kin.kill()
        self._channel.close()
        bound(self.log)

    def _signal(self, number: signal.Signals) -> None:
        """To the group, and to the process, which may not have made it yet, or have left it."""
        if self.process.returncode is None:
            for send in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    send(self.process.pid, number)

    def _ends_within(self, seconds: float) -> bool:
        """Whether the process ends by itself; it is not waited for as a child."""
        deadline = time.monotonic() + seconds
        while not has_ended(self.process.pid):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True
