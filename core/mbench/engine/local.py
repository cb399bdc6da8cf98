"""Workers on this machine: each process in its own group, behind private pipes."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract.device import HOST
from mbench.contract.outcome import speaks_of_memory
from mbench.engine import isolation, single
from mbench.engine.isolation import OF_LOCAL, allow_open_files, own_cores
from mbench.engine.jobs import look
from mbench.engine.outcome import CaseEnded
from mbench.engine.single import SingleWorker
from mbench.engine.transport import Channel
from mbench.engine.worker_group import WorkerGroup
from mbench.errors import MbenchError
from mbench.machine.absence import ATTENDANCE, wait_until
from mbench.machine.devices import kind
from mbench.machine.memory_layout import steadily
from mbench.machine.process_end import bound, end_of, ending, has_ended, last_line
from mbench.machine.process_tree import VARIABLE, ProcessTree
from mbench.machine.stopped import is_stopped
from mbench.plugins.launcher import Process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.rank import RankInfo
    from mbench.plugins.launcher import Program, Worker

__all__ = ["LocalWorker", "WorkerProcess", "start"]


KILL_SECONDS = 10.0
"""Longest wait for a process that hangs in the kernel and so cannot be killed yet."""


class WorkerProcess:
    """One process. Its id stays reserved until `kill` waits for it.

    However our own process ends, this one ends, too, with its children.
    """

    def __init__(self, program: Program, rank_info: RankInfo, *, reads: int, writes: int) -> None:
        """Start the process with its ends of the pipes; raises CaseEnded."""
        self.log, self.device = program.log, program.device
        self._tree = ProcessTree()
        self._stopped = False
        program.log.parent.mkdir(parents=True, exist_ok=True)
        held_by_watcher, self._leash = os.pipe()
        try:
            threads = program.steady_threads
            with contextlib.ExitStack() as stack:
                output = stack.enter_context(program.log.open("ab"))
                # Without steady threads, ranks are not pinned, as with frameworks' own launchers.
                # Exchanging gradients uses threads of its own, which on a single core would take
                # turns with the computation in short slices (JAX: 1.1 s a step instead of 0.8 s).
                if threads:
                    stack.enter_context(own_cores(rank_info))
                    stack.enter_context(steadily(threads))
                self.process = subprocess.Popen(
                    program.command(str(os.getpid()), str(reads), str(writes)),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=(reads, writes),
                    env={
                        **os.environ,
                        **isolation.scratch_variables(),
                        **program.variables,
                        **own_device(program.device, rank_info),
                        VARIABLE: self._tree.mark,
                    },
                )
            self._watcher = self._tree.watcher(self.process.pid, held_by_watcher)
        except BaseException as error:  # even Ctrl-C must not leave a pipe open
            os.close(self._leash)
            if not isinstance(error, OSError):
                raise
            reason = f"{program.python} does not start: {error}"
            raise CaseEnded("failed", reason, log=self.log) from None
        finally:
            os.close(held_by_watcher)
        self.pid = self.process.pid
        ATTENDANCE.runs(self.pid)

    def stop(self) -> None:
        if not self._stopped:
            ATTENDANCE.rests(self.pid)
            self.signal(signal.SIGSTOP)
            self._tree.signal(signal.SIGSTOP)
            self._stopped = True

    def resume(self) -> None:
        if self._stopped:
            ATTENDANCE.forget(self.pid)
            self._tree.signal(signal.SIGCONT)
            self.signal(signal.SIGCONT)
            ATTENDANCE.runs(self.pid)
            self._stopped = False

    def kill(self) -> None:
        """Kill it and its children at once. May be called more than once."""
        ATTENDANCE.forget(self.pid)
        self._watcher.kill()  # it knows only ids, which may soon belong to another process
        self._watcher.wait()
        self.signal(signal.SIGKILL)
        wait_until(lambda: self.process.poll() is not None, seconds=KILL_SECONDS, every=0.001)
        self._tree.kill()
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1
        bound(self.log)

    def signal(self, number: signal.Signals) -> None:
        """Signal the group, and the process, which may not be in it yet, or may have left it."""
        if self.process.returncode is None:
            for send in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    send(self.pid, number)

    def leaves(self) -> bool:
        """Whether it ends on its own within a moment; does not reap it."""
        return wait_until(lambda: has_ended(self.pid), seconds=single.GOODBYE_SECONDS)

    def end(self) -> tuple[str, str]:
        """Outcome and reason of a process that ended on its own; kills what it left behind.

        It first gets a moment to end: a process that we kill has no exit status of its own.
        """
        if not self.leaves():
            self.kill()
            return "failed", "the worker closed its pipe but did not end"
        self.kill()
        reason = f"the worker {ending(self.process.returncode)}"
        if said := last_line(self.log):
            reason += f"; its last words: {said}"
        return "oom" if speaks_of_memory(said) else "crashed", reason


def own_device(device: str, rank_info: RankInfo) -> Mapping[str, str]:
    """The variables that let one of several processes see only its own device."""
    if device == HOST or rank_info.ranks == 1:
        return {}
    return kind(device).visible(rank_info.local_rank)


LOOPBACK = "127.0.0.1"
GIVEN_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
IANA_DYNAMIC = 49152
LOWEST_PORT = 10240
"""Most services use ports below this one."""
PORTS_TRIED = 32


def start(program: Program, ranks: Sequence[RankInfo], /) -> Worker:
    """The launcher "local": all processes run on this machine; raises CaseEnded."""
    if ranks[-1].local_ranks != len(ranks):
        raise MbenchError("the launcher local starts processes on this machine only")
    allow_open_files(len(ranks), each=OF_LOCAL)
    workers: list[SingleWorker] = []
    try:
        for rank_info in ranks:
            workers.append(LocalWorker(program.of(rank_info), rank_info))
        for worker in workers:
            worker.greet()
    except BaseException:  # even Ctrl-C must not leave a process
        for worker in workers:
            worker.kill()
        raise
    return workers[0] if len(workers) == 1 else WorkerGroup(workers)


class LocalWorker(SingleWorker):
    """One process, connected by a pipe each way."""

    def __init__(self, program: Program, rank_info: RankInfo) -> None:
        """Start `program`; `greet` must follow. Raises CaseEnded."""
        self.log = program.log
        self.rank_info = rank_info
        self.address = f"{LOOPBACK}:{free_port()}" if rank_info.ranks > 1 else ""
        self.timeout = program.timeout_seconds
        worker_reads, requests = os.pipe()
        replies, worker_writes = os.pipe()
        try:
            self._body = WorkerProcess(program, rank_info, reads=worker_reads, writes=worker_writes)
        except BaseException:  # even Ctrl-C must not leave a pipe open
            os.close(requests)
            os.close(replies)
            raise
        finally:
            os.close(worker_reads)
            os.close(worker_writes)
        self.process = self._body.process
        self._channel = Channel(
            sends=requests, receives=replies, ends=end_of(self._body.pid), meanwhile=self.meanwhile
        )
        self.processes = (Process(pid=self._body.pid),)

    def meanwhile(self) -> None:
        bound(self.log)
        look()

    def _late(self, limit: float) -> str:
        held = " (its process is stopped, but not by mbench)" if is_stopped(self._body.pid) else ""
        return super()._late(limit) + held

    def _gone(self) -> CaseEnded:
        outcome, reason = self._body.end()
        return self._end(outcome, reason)

    def stop(self) -> None:
        self._body.stop()
        self._stopped = True

    def resume(self) -> None:
        self._body.resume()
        self._stopped = False

    def kill(self) -> None:
        self._body.kill()
        self._channel.close()

    def _leaves(self) -> bool:
        return self._body.leaves()


def free_port(address: str = LOOPBACK) -> int:
    """A port of `address` that nobody is listening on now; it is not reserved. Raises OSError.

    It is below the range from which the system assigns ports to connections; a port in that range
    might be taken before it is used. The system picks one only if none of those tried is free.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in (*random.sample(unassigned_ports(), PORTS_TRIED), 0):
        try:
            with socket.create_server((address, port), family=family) as taken:
                found: int = taken.getsockname()[1]
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                continue
            raise
        return found
    raise OSError(errno.EADDRINUSE, f"{address} has no free port")


def unassigned_ports() -> range:
    """The ports below the range from which the system assigns ports to connections."""
    try:
        first = int(GIVEN_PORTS.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = IANA_DYNAMIC
    return range(LOWEST_PORT, max(first, LOWEST_PORT + PORTS_TRIED))
