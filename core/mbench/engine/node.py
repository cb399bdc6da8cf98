"""A node as the parent sees it: by its keeper, who is told what to do and heard every second."""

from __future__ import annotations

import select
import threading
import time
from itertools import count
from typing import TYPE_CHECKING

from mbench.contract.reading import Malformed
from mbench.engine.agent_protocol import (
    Alive,
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.engine.agent_protocol import Here, Line

__all__ = ["OBEY_SECONDS", "Node"]

SILENT_SECONDS = 5.0
"""Of a keeper, after which its node is given up."""
AWAY_SECONDS = 2.0
"""Who has not looked for so long cannot tell silence from words that it did not hear."""
RARELY_SECONDS = 0.02
OBEY_SECONDS = 5.0


class Node:
    """One keeper's end of the line that is ours. Once in trouble, it stays so."""

    def __init__(self, line: Line, here: Here, number: int) -> None:
        self.here, self.number = here, number
        self.host = here.host
        self.free_bytes = here.free_bytes
        """Of memory, a second ago or less."""
        self.trouble = ""
        """Why nothing can be had of it any more, in words."""
        self._line = line
        self._lock = threading.RLock()
        self._numbers = count(1)
        self._launched: dict[int, Launched] = {}
        self._ended: dict[int, Ended] = {}
        self._done: dict[int, Done] = {}
        self._sampled: dict[int, sampler.Watch] = {}
        self._heard = self._looked = time.monotonic()

    def look(self, *, now: bool = False) -> None:
        """Take what has been said; without `now`, not more often than is of use."""
        with self._lock:
            at = time.monotonic()
            if self.trouble or (at - self._looked < RARELY_SECONDS and not now):
                return
            if at - self._looked > AWAY_SECONDS:
                self._heard = at
            self._looked = at
            try:
                for message in self._line.pending():
                    self._heard = at
                    self._take(message)
            except Malformed as error:
                self.lose(f"its keeper speaks nonsense: {error}")
            except EOFError:
                self.lose("its keeper is gone")
            except OSError as error:
                self.lose(f"the connection to its keeper broke: {error.strerror or error}")
            else:
                if at - self._heard > SILENT_SECONDS:
                    self.lose(f"its keeper was not heard for {SILENT_SECONDS:g} s")

    def _take(self, message: object) -> None:
        if isinstance(message, Alive):
            self.free_bytes = message.free_bytes
        elif isinstance(message, Launched):
            self._launched[message.key] = message
        elif isinstance(message, Ended):
            self._ended[message.key] = message
        elif isinstance(message, Done):
            self._done[message.number] = message
        elif isinstance(message, Sampled):
            seen = sampler.Watch(cores=message.cores, host=self.host)
            self._sampled.setdefault(message.number, seen).samples.append(message.sample)

    def launched(self, key: int) -> Launched | None:
        return self._launched.get(key)

    def ended(self, key: int) -> Ended | None:
        """How a worker ended by itself, as far as that was heard."""
        return self._ended.get(key)

    def forget(self, key: int) -> None:
        self._launched.pop(key, None)
        self._ended.pop(key, None)

    def send(self, message: object) -> None:
        """If it cannot be sent, the node is in trouble."""
        if self.trouble:
            return
        try:
            self._line.send(message)
        except OSError as error:
            self.lose(f"the connection to its keeper broke: {error.strerror or error}")

    def tell(self, key: int, what: str) -> int:
        """Let it stop, resume or kill a worker; the number by which `done` waits for that."""
        number = next(self._numbers)
        self.send(Signal(number=number, key=key, what=what))
        return number

    def watch(self, keys: Sequence[int]) -> int:
        """Let it sample its machine and these workers; the number for `done`, as in `tell`."""
        number = next(self._numbers)
        self.send(Watch(number=number, keys=list(keys)))
        return number

    def unwatch(self) -> int:
        """No more; once that is done, `sampled` gives what it saw."""
        number = next(self._numbers)
        self.send(Unwatch(number=number))
        return number

    def sampled(self, number: int) -> sampler.Watch:
        return self._sampled.pop(number, sampler.Watch(cores=0, host=self.host))

    def time_paces(self) -> int:
        """Let it time its core and its memory; what is done tells them."""
        number = next(self._numbers)
        self.send(Time(number=number))
        return number

    def done(self, number: int, what: str, *, seconds: float = OBEY_SECONDS) -> Done:
        """Wait until it has done `what`, in words. A node in trouble does nothing."""
        deadline = time.monotonic() + seconds
        while not self.trouble:
            self.look(now=True)
            if (done := self._done.pop(number, None)) is not None:
                return done
            if time.monotonic() > deadline:
                self.lose(f"its keeper did not {what} within {seconds:g} s")
            elif not self.trouble:
                self._wait(0.05)
        return Done(number=number)

    def _wait(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self._line.socket, select.POLLIN)
        poll.poll(1e3 * seconds)

    def lose(self, trouble: str) -> None:
        """Give it up. Its keeper ends all that it has, once it finds that it was hung up on."""
        with self._lock:
            if not self.trouble:
                self.trouble = trouble
                self._line.close()

    def close(self) -> None:
        self.send(Goodbye())
        self.lose("it was told goodbye")
