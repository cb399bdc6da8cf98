"""The agents of one command: listens for them, greets them, and runs the job that starts them."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import socket
import sys
import threading
from typing import TYPE_CHECKING

import mbench
from mbench.console import tell
from mbench.contract.reading import Malformed
from mbench.engine import handshake
from mbench.engine.agent_protocol import Accepted, Here, Refused
from mbench.engine.command import Command
from mbench.engine.jobs import look
from mbench.engine.node import Node
from mbench.engine.transport import Connection
from mbench.errors import MbenchError, reason_of
from mbench.machine.absence import awake

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mbench.engine.command import Engine

__all__ = ["Agents", "passed"]

DIAL_IN_SECONDS = 60.0
"""How long all agents may take to connect, from the engine's start."""
AT_ONCE = 64
"""How many connections are greeted at a time. If more come, the oldest that has not proven to be
ours is closed: our agents answer in a moment, and try again if they are cut off."""
OF_ONE_ADDRESS = 32
"""How many unproven connections one address may have, so that it cannot keep the others out."""
MOST_REJECTED = 100
"""How many rejected connections are remembered, with the reason."""
TICK_SECONDS = 0.1


class Agents:
    """Starts agents when they are first needed, and again after one is lost."""

    def __init__(self, engine: Engine, count: int) -> None:
        self.engine, self.count = engine, count
        self._token = secrets.token_hex(32)
        self._nodes: dict[int, Node] = {}
        self._lines: dict[int, Connection] = {}
        """Connections of workers that have not been taken yet, by key."""
        self._awaited: set[int] = set()
        self._keys = itertools.count(1)
        self._listeners: list[socket.socket] = []
        self._job: Command | None = None
        self._refused = ""
        self._rejected: list[str] = []
        """Connections that were rejected, and why."""
        self._changed = threading.Condition()
        self._starting = threading.Lock()
        self._strangers: dict[socket.socket, str] = {}
        """Connections not yet proven to be ours, and their addresses, oldest first."""

    def nodes(self) -> Sequence[Node]:
        """All nodes, by number; raises MbenchError."""
        with self._starting:
            there = [self._nodes[at] for at in sorted(self._nodes)]
            for node in there:
                node.look()
            if len(there) < self.count or self.trouble(there):
                self.close()
                try:
                    self._start()
                    there = self._gather()
                except BaseException:  # Ctrl-C too
                    self.close()
                    raise
            return there

    def trouble(self, nodes: Sequence[Node]) -> str:
        """Why these nodes cannot be used any more; empty if they can."""
        lost = [node.trouble for node in nodes if node.trouble]
        job = self._job
        ended = job.ended() if job else ""
        return "; ".join([*lost[:1], *([ended] if ended else [])])

    def _start(self) -> None:
        self._listeners = [listening(address) for address in handshake.addresses()]
        for listener in self._listeners:
            threading.Thread(target=self._admit, args=(listener,), daemon=True).start()
        where = ",".join(handshake.join(one.getsockname()[:2]) for one in self._listeners)
        variables = {handshake.PARENT: where, handshake.TOKEN: self._token}
        words = self.engine.command(
            self.count, [sys.executable, "-m", "mbench.engine.agent"], passed(variables)
        )
        try:
            self._job = Command(self.engine.name, words, variables)
        except OSError as error:
            raise MbenchError(f"{self.engine.name} does not start: {reason_of(error)}") from None

    def _gather(self) -> list[Node]:
        deadline = awake() + DIAL_IN_SECONDS
        assert self._job is not None
        while True:
            with self._changed:
                if self._refused:
                    raise MbenchError(self._refused)
                if len(self._nodes) == self.count:
                    there = [self._nodes[at] for at in sorted(self._nodes)]
                    say_of_twins(there)
                    return there
                self._changed.wait(TICK_SECONDS)
            ended = self._job.ended()
            if ended and not self._refused:
                raise MbenchError(f"{self._connected()}: {ended}")
            if awake() > deadline:
                raise MbenchError(f"{self._connected()} within {DIAL_IN_SECONDS:g} s")
            look()

    def _connected(self) -> str:
        came = ", ".join(node.host for node in self._nodes.values())
        said = f"{len(self._nodes)} of {self.count} agents connected"
        said += f" (from {came})" if came else ""
        return said + (f"; {self._rejected[-1]}" if self._rejected else "")

    def _admit(self, listener: socket.socket) -> None:
        """Greet every connection until the listener is closed."""
        while True:
            try:
                connection, (address, *_) = listener.accept()
            except OSError:
                return
            self._make_room(connection, address)
            try:
                threading.Thread(
                    target=self._greet, args=(connection, address), daemon=True
                ).start()
            except RuntimeError:  # no more threads can be started
                self._known(connection)
                connection.close()

    def _make_room(self, connection: socket.socket, address: str) -> None:
        """Note an unproven connection. If there are too many of its address, or in all, close the
        oldest of them.
        """
        with self._changed:
            same = [one for one, of in self._strangers.items() if of == address]
            full = same if len(same) >= OF_ONE_ADDRESS else [*self._strangers]
            if len(same) >= OF_ONE_ADDRESS or len(full) >= AT_ONCE:
                del self._strangers[full[0]]
                with contextlib.suppress(OSError):  # its thread closes it
                    full[0].shutdown(socket.SHUT_RDWR)
            self._strangers[connection] = address

    def _known(self, connection: socket.socket) -> None:
        """Stop counting a connection as unproven: whether it is ours is now known."""
        with self._changed:
            self._strangers.pop(connection, None)

    def _greet(self, connection: socket.socket, address: str) -> None:
        try:
            line = Connection(connection)
        except OSError:
            self._known(connection)
            connection.close()
            return
        try:
            try:
                key = handshake.challenged(line, self._token)
            finally:
                self._known(connection)  # one that knows the token may take its time
            if key:
                self._worker(key, line)
            else:
                self._agent(line)
        except (handshake.NotOurs, Malformed, OSError, EOFError) as error:
            line.close()
            with self._changed:
                self._rejected.append(f"rejected connection from {address}: {error}")
                del self._rejected[:-MOST_REJECTED]
                self._changed.notify_all()

    def _worker(self, key: int, line: Connection) -> None:
        with self._changed:
            if key not in self._awaited:
                raise handshake.NotOurs("unexpected worker")
            self._awaited.discard(key)
            self._lines[key] = line
            self._changed.notify_all()

    def _agent(self, line: Connection) -> None:
        here = line.receive(Here, seconds=DIAL_IN_SECONDS)  # the agent is ours, but may be busy
        with self._changed:
            number = len(self._nodes) if here.number is None else here.number
            wrong = unlike(here)
            if number in self._nodes:
                wrong = f"{here.host} has the number {number}, which another node already has"
            elif number >= self.count:
                wrong = f"{here.host} has the number {number}, but there are {self.count} nodes"
            if wrong:
                self._refused = wrong
                line.send(Refused(reason=wrong))
                line.close()
            else:
                line.expect_prompt_receipt()
                line.send(Accepted())
                self._nodes[number] = Node(line, here, number)
                give_distinct_names(list(self._nodes.values()))
            self._changed.notify_all()

    def await_worker(self) -> int:
        """A new key, for a worker that is about to connect."""
        with self._changed:
            key = next(self._keys)
            self._awaited.add(key)
        return key

    def take(self, key: int) -> socket.socket | None:
        """The connection of a worker, waiting briefly for it; None if it has not come yet."""
        with self._changed:
            if key not in self._lines:
                self._changed.wait(TICK_SECONDS)
            line = self._lines.pop(key, None)
        return line.socket if line else None

    def forget(self, key: int) -> None:
        with self._changed:
            self._awaited.discard(key)
            if line := self._lines.pop(key, None):
                line.close()

    def close(self) -> None:
        """Dismiss all agents and end the engine's job. May be called more than once."""
        for listener in self._listeners:
            with contextlib.suppress(OSError):  # wakes the thread that waits for connections
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for node in self._nodes.values():
            node.close()
        for line in self._lines.values():
            line.close()
        if self._job:
            self._job.close()
        self._listeners, self._job, self._refused = [], None, ""
        self._nodes, self._lines, self._rejected = {}, {}, []


def passed(variables: Iterable[str]) -> list[str]:
    """Names of the variables that our processes need on a node: `variables`, and those of this
    process that say where mbench's files are.
    """
    around = ("PYTHONPATH", "MBENCH_ENVIRONMENTS")
    return [*variables, *(name for name in around if name in os.environ)]


def listening(address: str) -> socket.socket:
    """A socket listening on a port that the system picks; raises MbenchError if there is none."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, 0), family=family, backlog=256)
    except OSError as error:
        raise MbenchError(
            f"mbench cannot listen for nodes on {address}: {reason_of(error)}"
        ) from None


def unlike(here: Here) -> str:
    """How a node's mbench differs from ours; empty if it does not."""
    ours, theirs = (
        f"{version} ({digest})"
        for version, digest in (
            (mbench.__version__, handshake.our_digest()),
            (here.version, here.digest),
        )
    )
    if ours == theirs:
        return ""
    return (
        f"{here.host} ({here.address}) has mbench {theirs}, but this machine has {ours}: install "
        "the same version, or put it on a shared path"
    )


def say_of_twins(nodes: Sequence[Node]) -> None:
    """Report nodes that are one machine, such as a host given under two names."""
    machines: dict[str, list[str]] = {}
    for node in nodes:
        if node.here.boot:
            machines.setdefault(node.here.boot, []).append(node.host)
    for hosts in machines.values():
        if len(hosts) > 1:
            tell(
                f"{' and '.join(hosts)} are one machine, which is measured as {len(hosts)} nodes: "
                "they share its processor, and their traffic crosses no network"
            )


def give_distinct_names(nodes: Sequence[Node]) -> None:
    """Add addresses to host names that are not unique, and numbers if those are not either."""
    names = [(node.here.host, node.here.address) for node in nodes]
    for node, name in zip(nodes, names, strict=True):
        said = [node.here.address] if [host for host, _ in names].count(name[0]) > 1 else []
        said += [f"node {node.number}"] if names.count(name) > 1 else []
        node.host = f"{node.here.host} ({', '.join(said)})" if said else node.here.host
