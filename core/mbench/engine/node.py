"""A node as the parent sees it: sends requests to its agent and follows its heartbeat."""

from __future__ import annotations

import select
import threading
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from mbench.contract.reading import Malformed
from mbench.engine.agent_protocol import (
    Alive,
    Away,
    Done,
    Ended,
    Goodbye,
    Launched,
    Sampled,
    Signal,
    Time,
    Unwatch,
    Watch,
)
from mbench.machine import sampler
from mbench.machine.absence import awake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.engine.agent_protocol import Here
    from mbench.engine.transport import Connection
    from mbench.machine.absence import Absence

__all__ = ["OBEY_SECONDS", "Node"]

SILENT_SECONDS = 5.0
"""How long a heartbeat may be missing before a node is given up, if its machine is silent too."""
STOPPED_SECONDS = 300.0
"""This limit if the machine answers: its agent is stopped, e.g. by pausing its container."""
ANSWERS_SECONDS = 4.0
"""A machine that is up acknowledges a probe at least this often (see Connection)."""
QUIET_SECONDS = 2.0
"""How long an agent is silent before its node is considered away: two heartbeats."""
AWAY_SECONDS = 2.0
"""If we have not read messages for this long, missing heartbeats prove nothing."""
RARELY_SECONDS = 0.02
OBEY_SECONDS = 5.0


class Node:
    """Our end of one agent's connection. Once a node is in trouble, it stays so."""

    def __init__(self, line: Connection, here: Here, number: int) -> None:
        self.here, self.number = here, number
        self.host = here.host
        self.free_bytes = here.free_bytes
        """Free memory, up to a second ago."""
        self.trouble = ""
        """Why the node can no longer be used; empty if it can."""
        self._line = line
        self._lock = threading.RLock()
        self._numbers = count(1)
        self._launched: dict[int, Launched] = {}
        self._ended: dict[int, Ended] = {}
        self._done: dict[int, Done] = {}
        self._sampled: dict[int, sampler.Watch] = {}
        self._heard = self._looked = awake()
        self._away = 0.0
        """Seconds for which its agent was silent before it came back."""
        self.absences: list[Absence] = []
        """Absences that its agent has reported, in order."""
        self._taken = 0

    def clock(self) -> float:
        """Seconds on a clock that stands still while this process or the node is away."""
        now = awake()
        return now - self._away - max(0.0, now - self._heard - QUIET_SECONDS)

    def take_absences(self) -> list[Absence]:
        """Absences that have not been taken before."""
        found = self.absences[self._taken :]
        self._taken += len(found)
        return found

    def look(self, *, now: bool = False) -> None:
        """Read pending messages; without `now`, only if the last time was a while ago."""
        with self._lock:
            at = awake()
            if self.trouble or (at - self._looked < RARELY_SECONDS and not now):
                return
            if at - self._looked > AWAY_SECONDS:
                self._heard = at
            self._looked = at
            try:
                for message in self._line.pending():
                    self._away += max(0.0, at - self._heard - QUIET_SECONDS)
                    self._heard = at
                    self._take(message)
            except Malformed as error:
                self.lose(f"its agent sent an invalid message: {error}")
            except EOFError:
                self.lose("its agent is gone")
            except OSError as error:
                self.lose(f"the connection to its agent broke: {error.strerror or error}")
            else:
                self._judge(at - self._heard)

    def _judge(self, silent: float) -> None:
        """Give the node up if its agent has been `silent` for too many seconds."""
        answers = self._line.last_acknowledged() < ANSWERS_SECONDS
        limit = STOPPED_SECONDS if answers else SILENT_SECONDS
        if silent > limit:
            but = ", although its machine answers: the agent is stopped" if answers else ""
            self.lose(f"no heartbeat from its agent for {limit:g} s{but}")

    def _take(self, message: object) -> None:
        if isinstance(message, Alive):
            self.free_bytes = message.free_bytes
        elif isinstance(message, Away):
            self.absences.append(replace(message.absence, host=self.host))
        elif isinstance(message, Launched):
            self._launched[message.key] = message
        elif isinstance(message, Ended):
            self._ended[message.key] = message
        elif isinstance(message, Done):
            self._done[message.number] = message
        elif isinstance(message, Sampled):
            new = sampler.Watch(cores=message.cores, host=self.host, threads=message.threads)
            seen = self._sampled.setdefault(message.number, new)
            seen.samples.append(message.sample)
            seen.moves += message.moves

    def launched(self, key: int) -> Launched | None:
        return self._launched.get(key)

    def ended(self, key: int) -> Ended | None:
        """How a worker ended on its own, if that was reported."""
        return self._ended.get(key)

    def forget(self, key: int) -> None:
        self._launched.pop(key, None)
        self._ended.pop(key, None)

    def send(self, message: object) -> None:
        """Send a message; if that fails, the node is in trouble."""
        if self.trouble:
            return
        try:
            self._line.send(message)
        except OSError as error:
            self.lose(f"the connection to its agent broke: {error.strerror or error}")

    def tell(self, key: int, what: str) -> int:
        """Request that a worker be stopped, resumed or killed; returns the number for `done`."""
        number = next(self._numbers)
        self.send(Signal(number=number, key=key, what=what))
        return number

    def watch(self, keys: Sequence[int]) -> int:
        """Request samples of its machine and these workers; returns the number for `done`."""
        number = next(self._numbers)
        self.send(Watch(number=number, keys=list(keys)))
        return number

    def unwatch(self) -> int:
        """Request the end of sampling; once that is done, `sampled` returns the samples."""
        number = next(self._numbers)
        self.send(Unwatch(number=number))
        return number

    def sampled(self, number: int) -> sampler.Watch:
        return self._sampled.pop(number, sampler.Watch(cores=0, host=self.host))

    def time_paces(self) -> int:
        """Request a timing of a core and of memory; `done` returns their paces."""
        number = next(self._numbers)
        self.send(Time(number=number))
        return number

    def done(self, number: int, what: str, *, seconds: float = OBEY_SECONDS) -> Done:
        """Wait until the agent has done `what` (a phrase for messages), and return its answer; an
        empty one if the node is in trouble.
        """
        deadline = self.clock() + seconds
        while not self.trouble:
            self.look(now=True)
            if (done := self._done.pop(number, None)) is not None:
                return done
            if self.clock() > deadline:
                self.lose(f"its agent did not {what} within {seconds:g} s")
            elif not self.trouble:
                self._wait(0.05)
        return Done(number=number)

    def _wait(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self._line.socket, select.POLLIN)
        poll.poll(1e3 * seconds)

    def lose(self, trouble: str) -> None:
        """Give the node up. Its agent ends its workers once it finds the connection closed."""
        with self._lock:
            if not self.trouble:
                self.trouble = trouble
                self._line.close()

    def close(self) -> None:
        self.send(Goodbye())
        self.lose("it was dismissed")
