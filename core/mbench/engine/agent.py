"""The agent of one node: launched by a cluster engine, it starts, stops and ends workers.

It connects to the parent, whose address is in its environment. It opens a separate connection for
each worker, so that questions and answers go directly. None of its workers outlive it.

Usage: python -m mbench.engine.agent
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import mbench
from mbench.contract.reading import Malformed
from mbench.engine import handshake
from mbench.engine.agent_protocol import (
    Accepted,
    Alive,
    Away,
    Done,
    Ended,
    Goodbye,
    Here,
    Launch,
    Launched,
    Sampled,
    Signal,
    Time,
    Unwatch,
    Watch,
)
from mbench.engine.isolation import OF_AGENT, allow_open_files, scratch, scratch_variables
from mbench.engine.local import WorkerProcess, free_port
from mbench.engine.machines import describe_machine
from mbench.engine.outcome import CaseEnded
from mbench.engine.watching import Watcher
from mbench.errors import MbenchError
from mbench.machine.absence import ATTENDANCE
from mbench.machine.kernel import boot_id
from mbench.machine.limits import available_bytes
from mbench.machine.pace import paces
from mbench.machine.process_end import bound, end_of, has_ended, last_words
from mbench.plugins.launcher import Program, package_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mbench.engine.transport import Connection

__all__ = ["NUMBERS", "NodeAgent", "main"]

ALIVE_SECONDS = 1.0
LOOK_SECONDS = 0.5
ACCEPT_SECONDS = 20.0
NUMBERS = ("MBENCH_NODE", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
"""Variables in which an engine numbers its tasks, one per node."""
ENGINES = ("MBENCH_NODE", "OMPI_", "PMI_", "PMIX_", "PRTE_", "RAY_", "SLURM_")
"""Prefixes of engines' own variables. Frameworks would take them for their own cluster's."""


class NodeAgent:
    """Carries out the parent's requests until the connection closes or its own starter ends."""

    def __init__(self, line: Connection, parent: list[tuple[str, int]], token: str) -> None:
        self.line, self._parent, self._token = line, parent, token
        self.address: str = line.socket.getsockname()[0]
        self._processes: dict[int, WorkerProcess] = {}
        self._watcher = Watcher()
        self._ends: dict[int, int] = {}
        """Descriptors that become readable when a worker ends, by its key."""
        self._started_by = os.getppid()
        self._over = threading.Event()
        self._reporting = threading.Lock()

    def here(self, environment: Mapping[str, str]) -> Here:
        number = next((environment[name] for name in NUMBERS if name in environment), None)
        return Here(
            version=mbench.__version__, digest=handshake.our_digest(), host=socket.gethostname(),
            address=self.address, machine=describe_machine(), free_bytes=available_bytes(),
            pid=os.getpid(), number=None if number is None else int(number), boot=boot_id(),
        )  # fmt: skip

    def keep(self) -> None:
        """Serve the parent until it says goodbye or our starter ends.

        Raises OSError, EOFError or Malformed once the parent is gone or sends nonsense.
        """
        self.line.expect_prompt_receipt()
        threading.Thread(target=self._live, daemon=True).start()
        try:
            while os.getppid() == self._started_by:
                if not self._turn():
                    return
        finally:
            self._over.set()
            self._watcher.end()
            for body in self._processes.values():
                body.kill()

    def _turn(self) -> bool:
        """Carry out pending requests and report ended workers; false after a goodbye."""
        for message in self.line.pending():
            if isinstance(message, Goodbye):
                return False
            self._do(message)
        poll = select.poll()
        for descriptor in (self.line.socket.fileno(), *self._ends.values()):
            poll.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(1e3 * LOOK_SECONDS)}
        for key, body in list(self._processes.items()):
            if self._ends[key] in ready if key in self._ends else has_ended(body.pid):
                self._ended(key, *body.end())
            else:
                bound(body.log)
        return True

    def _do(self, message: object) -> None:
        if isinstance(message, Launch):
            try:
                self._launch(message)
            except (CaseEnded, MbenchError) as error:
                end = CaseEnded.of(error)
                self.line.send(Ended(key=message.key, outcome=end.outcome, reason=end.reason))
            except (OSError, handshake.NotOurs) as error:
                reason = f"its agent could not connect it to mbench: {error}"
                self.line.send(Ended(key=message.key, outcome="failed", reason=reason))
        elif isinstance(message, Watch):
            bodies = [self._processes[key] for key in message.keys if key in self._processes]
            if bodies:
                self._watcher.begin([body.pid for body in bodies], bodies[0].device)
            self.line.send(Done(number=message.number))
        elif isinstance(message, Unwatch):
            seen = self._watcher.end()
            self._report_absences()
            for sample in seen.samples:
                moves = seen.moves if sample is seen.samples[-1] else []
                self.line.send(
                    Sampled(number=message.number, cores=seen.cores, sample=sample,
                            threads=seen.threads, moves=moves)
                )  # fmt: skip
            self.line.send(Done(number=message.number))
        elif isinstance(message, Time):
            self.line.send(Done(number=message.number, paces=paces()))
        elif isinstance(message, Signal):
            said = ""
            if (body := self._processes.get(message.key)) is not None:
                if message.what == "kill":
                    body.kill()
                    said = self._forget(message.key)
                else:
                    {"stop": body.stop, "resume": body.resume}[message.what]()
            self.line.send(Done(number=message.number, said=said))

    def _launch(self, message: Launch) -> None:
        """Raises CaseEnded, MbenchError, NotOurs or OSError."""
        for module, wanted in message.modules.items():
            (file,) = package_files([module]).values()
            if handshake.digest([Path(file)]) != wanted:
                raise MbenchError(
                    f"{file} differs from the parent's {module}; install the same version, or put "
                    "it on a shared path"
                )
        program = Program(
            python=Path(message.python), modules=list(message.modules), device=message.device,
            variables=message.variables, steady_threads=message.steady_threads, timeout_seconds=0,
            log=Path(scratch_variables()["TMPDIR"], f"{message.key}.log"),
        )  # fmt: skip
        allow_open_files(1, each=OF_AGENT)
        own = handshake.dial(self._parent, self._token, key=message.key).socket
        try:
            reads, writes = own.fileno(), os.dup(own.fileno())
            try:
                body = WorkerProcess(program, message.rank_info, reads=reads, writes=writes)
            finally:
                os.close(writes)
        finally:
            own.close()
        self._processes[message.key] = body
        if (descriptor := end_of(body.pid)) is not None:
            self._ends[message.key] = descriptor
        port = free_port(self.address)
        self.line.send(Launched(key=message.key, pid=body.pid, port=port))

    def _ended(self, key: int, outcome: str, reason: str) -> None:
        said = self._forget(key)
        self.line.send(Ended(key=key, outcome=outcome, reason=reason, said=said))

    def _forget(self, key: int) -> str:
        """Forget a worker that has ended; returns the end of its log."""
        if (descriptor := self._ends.pop(key, None)) is not None:
            os.close(descriptor)
        log = self._processes.pop(key).log
        said = last_words(log)
        log.unlink(missing_ok=True)
        return said

    def _report_absences(self) -> None:
        with self._reporting:
            for absence in ATTENDANCE.take():
                self.line.send(Away(absence=absence))

    def _live(self) -> None:
        """Send a heartbeat each second: the parent looks for it while it waits for an answer."""
        with contextlib.suppress(OSError):
            while not self._over.wait(ALIVE_SECONDS):
                self._report_absences()
                self.line.send(Alive(free_bytes=available_bytes()))


def main() -> int:
    """The exit code: 0 once the parent has said goodbye or is gone, 1 if it refuses this agent."""
    for before_the_end in (signal.SIGUSR1, signal.SIGUSR2):  # see worker/bootstrap.py
        signal.signal(before_the_end, signal.SIG_IGN)
    environment = dict(os.environ)
    for name in environment:
        if name.startswith(ENGINES):
            del os.environ[name]
    try:  # workers must not see the token and the address
        token = handshake.checked(os.environ.pop(handshake.TOKEN))
        endpoints = handshake.split(os.environ.pop(handshake.PARENT))
    except KeyError as error:
        return refused(f"{error} is not set; agents are started by mbench, which sets it")
    except ValueError as error:
        return refused(f"{error}; agents are started by mbench, which sets it")
    try:
        line = handshake.dial(endpoints, token)
        agent = NodeAgent(line, endpoints, token)
        line.send(agent.here(environment))
        line.receive(Accepted, seconds=ACCEPT_SECONDS)
    except (OSError, EOFError, Malformed, handshake.NotOurs) as error:
        return refused(error)
    with scratch(), contextlib.suppress(OSError, EOFError, Malformed):
        agent.keep()
    return 0


def refused(reason: object) -> int:
    print(f"mbench's agent on {socket.gethostname()}: {reason}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
