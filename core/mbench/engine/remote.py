"""A worker on another machine: asked over a line of its own, stopped and ended by its keeper."""

from __future__ import annotations

import select
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.engine import handshake, single
from mbench.engine.agent_protocol import Launch
from mbench.engine.channel import Channel
from mbench.engine.jobs import look
from mbench.engine.memory import SHARE
from mbench.engine.node import OBEY_SECONDS
from mbench.engine.outcome import CaseEnded
from mbench.engine.process import KILL_SECONDS
from mbench.engine.program import package_files
from mbench.engine.single import SingleWorker
from mbench.engine.worker import Process

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.contract.rank import RankInfo
    from mbench.engine.agents import Keepers
    from mbench.engine.node import Node
    from mbench.engine.program import Program

__all__ = ["RemoteWorker"]

CONNECT_SECONDS = 30.0
TICK_SECONDS = 0.02
HIDING = "VISIBLE_DEVICES"
"""How names of variables end that say which devices of a machine there are: each has its own."""


class RemoteWorker(SingleWorker):
    """One process of a node."""

    def __init__(self, program: Program, place: RankInfo, node: Node, keepers: Keepers) -> None:
        """Let it be started; it is still to be greeted. Raises MbenchError."""
        self.log, self.place, self.timeout = program.log, place, program.timeout_seconds
        self.address, self.processes = "", (Process(pid=0, host=node.host),)
        self._node, self._keepers = node, keepers
        self._over = False
        self._connected = False
        self._told = ("", 0)
        program.log.parent.mkdir(parents=True, exist_ok=True)
        program.log.touch()
        files = package_files(program.modules)
        digests = {module: handshake.digest([Path(file)]) for module, file in files.items()}
        self.key = keepers.await_worker()
        around = {n: value for n, value in program.around.items() if not n.endswith(HIDING)}
        node.send(
            Launch(
                key=self.key, python=str(program.python), modules=digests, place=place,
                variables={**around, **program.variables}, device=program.device,
                steady_threads=program.steady_threads,
            )
        )  # fmt: skip

    def greet(self) -> None:
        try:
            self._connect(min(self.timeout, CONNECT_SECONDS))
        except BaseException:  # Ctrl-C too must leave no process
            self.kill()
            raise
        super().greet()

    def _connect(self, seconds: float) -> None:
        """Raises CaseEnded."""
        deadline = time.monotonic() + seconds
        while (own := self._keepers.taken(self.key)) is None:
            self.meanwhile()
            if time.monotonic() > deadline:
                raise CaseEnded("timeout", f"it did not dial in within {seconds:g} s", log=self.log)
        descriptor = own.detach()
        self._channel = Channel(sends=descriptor, receives=descriptor, meanwhile=self.meanwhile)
        self._connected = True
        while (launched := self._node.launched(self.key)) is None:
            self.meanwhile()
            if time.monotonic() > deadline:
                raise CaseEnded("timeout", f"it did not start within {seconds:g} s", log=self.log)
            time.sleep(TICK_SECONDS)
        self.processes = (Process(pid=launched.pid, host=self._node.host),)
        if self.place.ranks > 1:
            self.address = f"{self._node.here.address}:{launched.port}"

    @property
    def kept(self) -> Mapping[Node, Sequence[int]]:
        return {self._node: [self.key]}

    @property
    def over(self) -> bool:
        return self._over

    @property
    def lost(self) -> bool:
        self._node.look(now=True)
        return bool(self._keepers.trouble([self._node]))

    def meanwhile(self) -> None:
        """Raises CaseEnded where its node is lost, or it has ended and said nothing."""
        look()
        self._node.look()
        if trouble := self._keepers.trouble([self._node]):
            raise self._end("crashed", trouble)
        ended = self._node.ended(self.key)
        if ended is not None and not self._leaving and not self._has_said():
            raise self._end(ended.outcome, ended.reason)

    def _has_said(self) -> bool:
        """Whether there is something to hear still, be it that it hung up."""
        if not self._connected:
            return False
        poll = select.poll()
        for descriptor in self.awaited:
            poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))

    def _end(self, outcome: str, reason: str) -> CaseEnded:
        """Of several, it is told who it was; one alone tells where it ran."""
        alone = self.place.ranks == 1
        return super()._end(outcome, f"on {self._node.host}: {reason}" if alone else reason)

    def _gone(self) -> CaseEnded:
        if not self._leaves() and not self._node.trouble:
            return self._end("failed", "the worker closed its connection, and did not end")
        ended = self._node.ended(self.key)
        if ended is not None:
            return self._end(ended.outcome, ended.reason)
        return self._end("crashed", self._keepers.trouble([self._node]))

    def _leaves(self) -> bool:
        deadline = time.monotonic() + single.GOODBYE_SECONDS
        while self._node.ended(self.key) is None and not self._node.trouble:
            if time.monotonic() > deadline:
                return False
            time.sleep(TICK_SECONDS)
            self._node.look(now=True)
        return self._node.ended(self.key) is not None

    def foretell(self, what: str) -> None:
        due = {"stop": not self._stopped, "resume": self._stopped, "kill": not self._over}[what]
        if due and self._node.ended(self.key) is None:
            self._told = (what, self._node.tell(self.key, what))

    def _obeyed(self, what: str) -> str:
        """What its keeper says once it has done that, of which it may have been told before."""
        told, number = self._told
        self._told = ("", 0)
        if told != what:
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
                    file.write(f"[mbench: the end of what it wrote on {self._node.host}]\n{said}")
        finally:
            self._keepers.forget(self.key)
            self._node.forget(self.key)
            if self._connected:
                self._channel.close()

    def room_bytes(self) -> int:
        free = int(self._node.free_bytes * SHARE) // self.place.local_ranks
        return free if self.memory_limit_bytes is None else min(free, self.memory_limit_bytes)
