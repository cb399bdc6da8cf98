"""A launcher for several nodes, whatever engine starts their agents, and its workers."""

from __future__ import annotations

import atexit
import select
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.engine import handshake, single
from mbench.engine.agent_protocol import Launch
from mbench.engine.agents import Agents, passed
from mbench.engine.command import Command
from mbench.engine.isolation import OF_REMOTE, allow_open_files
from mbench.engine.jobs import look
from mbench.engine.local import KILL_SECONDS
from mbench.engine.memory import SHARE
from mbench.engine.node import OBEY_SECONDS
from mbench.engine.outcome import CaseEnded
from mbench.engine.single import SingleWorker
from mbench.engine.transport import Channel
from mbench.engine.worker_group import WorkerGroup, named
from mbench.errors import MbenchError, reason_of
from mbench.machine.process_end import last_words
from mbench.plugins.launcher import Process, package_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.rank import RankInfo
    from mbench.engine.command import Engine
    from mbench.engine.node import Node
    from mbench.machine.records import Machine
    from mbench.plugins.launcher import Program, Worker

__all__ = ["Cluster", "RemoteWorker"]


CONNECT_SECONDS = 30.0
TICK_SECONDS = 0.02
HIDING = "VISIBLE_DEVICES"
"""Suffix of variables that list a machine's visible devices, which differ between machines."""


class RemoteWorker(SingleWorker):
    """One process on a node."""

    def __init__(self, program: Program, rank_info: RankInfo, node: Node, agents: Agents) -> None:
        """Ask the node to start the process; `greet` must follow. Raises MbenchError."""
        self.log, self.rank_info, self.timeout = program.log, rank_info, program.timeout_seconds
        self.address, self.processes = "", (Process(pid=0, host=node.host),)
        self._node, self._agents = node, agents
        self._over = False
        self._connected = False
        self._requested = ("", 0)
        program.log.parent.mkdir(parents=True, exist_ok=True)
        program.log.touch()
        files = package_files(program.modules)
        digests = {module: handshake.digest([Path(file)]) for module, file in files.items()}
        self.key = agents.await_worker()
        around = {n: value for n, value in program.around.items() if not n.endswith(HIDING)}
        node.send(
            Launch(
                key=self.key, python=str(program.python), modules=digests, rank_info=rank_info,
                variables={**around, **program.variables}, device=program.device,
                steady_threads=program.steady_threads,
            )
        )  # fmt: skip

    def greet(self) -> None:
        try:
            self._connect(min(self.timeout, CONNECT_SECONDS))
        except BaseException:  # even Ctrl-C must not leave a process
            self.kill()
            raise
        super().greet()

    def _connect(self, seconds: float) -> None:
        """Raises CaseEnded."""
        deadline = self.clock() + seconds
        while (own := self._agents.take(self.key)) is None:
            self.meanwhile()
            if self.clock() > deadline:
                raise CaseEnded("timeout", f"it did not connect within {seconds:g} s", log=self.log)
        descriptor = own.detach()
        self._channel = Channel(
            sends=descriptor, receives=descriptor, meanwhile=self.meanwhile, clock=self.clock
        )
        self._connected = True
        while (launched := self._node.launched(self.key)) is None:
            self.meanwhile()
            if self.clock() > deadline:
                raise CaseEnded("timeout", f"it did not start within {seconds:g} s", log=self.log)
            time.sleep(TICK_SECONDS)
        self.processes = (Process(pid=launched.pid, host=self._node.host),)
        if self.rank_info.ranks > 1:
            self.address = f"{self._node.here.address}:{launched.port}"

    @property
    def nodes(self) -> Mapping[Node, Sequence[int]]:
        return {self._node: [self.key]}

    @property
    def over(self) -> bool:
        return self._over

    def clock(self) -> float:
        return self._node.clock()

    @property
    def lost(self) -> bool:
        self._node.look(now=True)
        return bool(self._agents.trouble([self._node]))

    def meanwhile(self) -> None:
        """Raises CaseEnded if its node is lost, or if it ended without an answer."""
        look()
        self._node.look()
        if trouble := self._agents.trouble([self._node]):
            raise self._end("crashed", trouble)
        ended = self._node.ended(self.key)
        if ended is not None and not self._leaving and not self._is_readable():
            raise self._end(ended.outcome, ended.reason)

    def _is_readable(self) -> bool:
        """Whether there is anything left to read, even if only the end."""
        if not self._connected:
            return False
        poll = select.poll()
        for descriptor in self.awaited:
            poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def _end(self, outcome: str, reason: str) -> CaseEnded:
        """How the worker ended, with its host if it has the only process. If there are several, the
        caller adds the rank and the host.
        """
        alone = self.rank_info.ranks == 1
        return super()._end(outcome, f"on {self._node.host}: {reason}" if alone else reason)

    def _gone(self) -> CaseEnded:
        if not self._leaves() and not self._node.trouble:
            return self._end("failed", "the worker closed its connection but did not end")
        ended = self._node.ended(self.key)
        if ended is not None:
            return self._end(ended.outcome, ended.reason)
        return self._end("crashed", self._agents.trouble([self._node]))

    def _leaves(self) -> bool:
        deadline = self.clock() + single.GOODBYE_SECONDS
        while self._node.ended(self.key) is None and not self._node.trouble:
            if self.clock() > deadline:
                return False
            time.sleep(TICK_SECONDS)
            self._node.look(now=True)
        return self._node.ended(self.key) is not None

    def announce(self, what: str) -> None:
        due = {"stop": not self._stopped, "resume": self._stopped, "kill": not self._over}[what]
        if due and self._node.ended(self.key) is None:
            self._requested = (what, self._node.tell(self.key, what))

    def _obeyed(self, what: str) -> str:
        """The agent's answer once it has done `what`, which `announce` may have requested."""
        asked, number = self._requested
        self._requested = ("", 0)
        if asked != what:
            number = self._node.tell(self.key, what)
        limit = OBEY_SECONDS + (KILL_SECONDS if what == "kill" else 0)
        return self._node.done(number, f"{what} its worker", seconds=limit).said

    def stop(self) -> None:
        if not self._stopped:
            self._obeyed("stop")
            self._stopped = True

    def resume(self) -> None:
        if self._stopped:
            self._obeyed("resume")
            self._stopped = False

    def kill(self) -> None:
        if self._over:
            return
        self._over = True
        try:
            ended = self._node.ended(self.key)
            said = ended.said if ended else self._obeyed("kill")
            if said:
                with self.log.open("a") as file:
                    file.write(f"[mbench: the end of its log on {self._node.host}]\n{said}")
        finally:
            self._agents.forget(self.key)
            self._node.forget(self.key)
            if self._connected:
                self._channel.close()

    def allowed_bytes(self) -> int:
        free = int(self._node.free_bytes * SHARE) // self.rank_info.local_ranks
        return free if self.memory_limit_bytes is None else min(free, self.memory_limit_bytes)


TICK_SECONDS = 0.2


class Cluster:
    """Starts agents when they are needed; they serve all workers until the cluster is closed."""

    def __init__(self, engine: Engine, nodes: int) -> None:
        self.agents = Agents(engine, nodes)
        self.name = engine.name
        atexit.register(self.close)

    def __call__(self, program: Program, ranks: Sequence[RankInfo], /) -> Worker:
        """A worker with a process for each rank; raises CaseEnded or MbenchError."""
        needed = 1 + ranks[-1].rank // ranks[-1].local_ranks
        if needed > self.agents.count:
            raise MbenchError(f"{needed} nodes are needed, but there are {self.agents.count}")
        nodes = self.agents.nodes()
        allow_open_files(len(ranks), each=OF_REMOTE)
        workers: list[SingleWorker] = []
        try:
            for rank_info in ranks:
                node = nodes[rank_info.rank // rank_info.local_ranks]
                workers.append(RemoteWorker(program.of(rank_info), rank_info, node, self.agents))
            for worker in workers:
                with named(worker):
                    worker.greet()
        except BaseException:  # even Ctrl-C must not leave a process
            for worker in workers:
                worker.kill()
            raise
        return WorkerGroup(workers) if len(workers) > 1 else workers[0]

    def machines(self) -> Mapping[str, Machine]:
        """The agents' descriptions of their machines, by host; raises MbenchError."""
        return {node.host: node.here.machine for node in self.agents.nodes()}

    def do(self, words: Sequence[str]) -> str:
        """Run a command of ours once on each node, without agents, and return its output. Raises
        MbenchError if it fails on a node.
        """
        engine = self.agents.engine
        try:
            job = Command(engine.name, engine.command(self.agents.count, words, passed({})), {})
        except OSError as error:
            raise MbenchError(f"{engine.name} does not start: {reason_of(error)}") from None
        try:
            while not (ended := job.ended()):
                look()
                time.sleep(TICK_SECONDS)
            if job.process.returncode:
                raise MbenchError(ended)
            return last_words(job.log)
        finally:
            job.close()

    def close(self) -> None:
        """Dismiss the agents. May be called more than once."""
        self.agents.close()
