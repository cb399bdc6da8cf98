"""Processes of this machine, each in a group of its own, behind a private pipe."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

from mbench.contract.outcome import speaks_of_memory
from mbench.engine import scratch, single
from mbench.engine.channel import Channel
from mbench.engine.ending import bound, end_of, ending, has_ended, last_line
from mbench.engine.kin import VARIABLE, Kin
from mbench.engine.outcome import CaseEnded
from mbench.engine.ranks import Ranks
from mbench.engine.share import apart
from mbench.engine.single import SingleWorker
from mbench.engine.steady import steadily
from mbench.engine.together import look
from mbench.engine.worker import Process
from mbench.errors import MbenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.contract.place import Place
    from mbench.engine.program import Program
    from mbench.engine.worker import Worker

__all__ = ["LocalWorker", "start"]

KILL_SECONDS = 10.0
"""Of waiting for what cannot be killed while it hangs in the kernel."""
LOOPBACK = "127.0.0.1"


def start(program: Program, places: Sequence[Place], /) -> Worker:
    """The launcher "local": all places are on this machine; raises CaseEnded."""
    if places[-1].local_ranks != len(places):
        raise MbenchError("the launcher local starts processes of this machine only")
    workers: list[SingleWorker] = []
    try:
        for place in places:
            workers.append(LocalWorker(program.of(place), place))
        for worker in workers:
            worker.greet()
    except BaseException:  # Ctrl-C too must leave no process
        for worker in workers:
            worker.kill()
        raise
    return workers[0] if len(workers) == 1 else Ranks(workers)


class LocalWorker(SingleWorker):
    """One process. Its number stays ours until it is waited for, which `kill` alone does."""

    def __init__(self, program: Program, place: Place) -> None:
        """Start `program`, which is still to be greeted; raises CaseEnded."""
        self.log = program.log
        self.place = place
        self.address = f"{LOOPBACK}:{free_port()}" if place.ranks > 1 else ""
        self.timeout = program.timeout_seconds
        self._kin = Kin()
        program.log.parent.mkdir(parents=True, exist_ok=True)
        worker_reads, requests = os.pipe()
        replies, worker_writes = os.pipe()
        try:
            threads = program.steady_threads
            how = steadily(threads) if threads else contextlib.nullcontext()
            with program.log.open("ab") as output, apart(place), how:
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
            sends=requests, receives=replies, ends=end_of(pid), meanwhile=self.meanwhile
        )
        self.processes = (Process(pid=pid),)

    def meanwhile(self) -> None:
        bound(self.log)
        look()

    def _gone(self) -> CaseEnded:
        """How it ended. It is waited for first: what we kill would not tell."""
        if not self._leaves():
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

    def _leaves(self) -> bool:
        """Whether the process ends by itself; it is not waited for as a child."""
        deadline = time.monotonic() + single.GOODBYE_SECONDS
        while not has_ended(self.process.pid):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True


def free_port() -> int:
    """One that nobody listens on now; it is not kept from others until it is used."""
    with socket.create_server((LOOPBACK, 0)) as taken:
        port: int = taken.getsockname()[1]
    return port
