"""What the parent and the keepers of nodes say to each other: JSON lines, checked on reading."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TypeVar

from mbench.contract import wire
from mbench.contract.rank import RankInfo
from mbench.contract.reading import Malformed, read_fields
from mbench.machine.pace import Paces
from mbench.machine.records import Machine
from mbench.machine.sample import Sample

__all__ = [
    "Accepted",
    "Alive",
    "Answer",
    "Challenge",
    "Done",
    "Ended",
    "Goodbye",
    "Here",
    "Launch",
    "Launched",
    "Line",
    "Refused",
    "Sampled",
    "Signal",
    "Time",
    "Unwatch",
    "Watch",
    "Welcome",
]

LONGEST_LINE = 2**20
CHUNK_BYTES = 2**16
DEAD_SECONDS = 8
"""After which what was sent and not received ends a control connection."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """The parent's first word to whoever dials in."""

    nonce: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Proves that the other side knows the token. `key` is the worker's whose line this becomes, or
    0: of the keeper itself.
    """

    nonce: str
    key: int
    proof: str


@dataclass(frozen=True, kw_only=True)
class Welcome:
    """Proves that the parent knows it, too."""

    proof: str


@dataclass(frozen=True, kw_only=True)
class Here:
    """What a keeper tells of its node. `digest` is of mbench's own files.

    `number` is what the engine calls the node, where it does; `address`, by which it reached the
    parent.
    """

    version: str
    digest: str
    host: str
    address: str
    machine: Machine
    free_bytes: int
    pid: int
    number: int | None = None


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """The keeper may stay."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """It may not."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Start a worker, and name it `key`; answered by Launched, or by Ended.

    `modules` are those that it must import, with a digest of each one's files.
    """

    key: int
    python: str
    modules: dict[str, str]
    variables: dict[str, str]
    device: str
    steady_threads: int
    place: RankInfo


@dataclass(frozen=True, kw_only=True)
class Launched:
    """`port` is one on the node that its framework may listen on."""

    key: int
    pid: int
    port: int


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A worker has ended by itself, or did not start; `said` is the end of its log."""

    key: int
    outcome: str
    reason: str
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Signal:
    """`what` is stop, resume or kill; answered by Done of the same number."""

    number: int
    key: int
    what: str


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Sample the machine, and these workers on it, from now on; answered by Done."""

    number: int
    keys: list[int]


@dataclass(frozen=True, kw_only=True)
class Unwatch:
    """No more; answered by Sampled for each look, and Done."""

    number: int


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """One look at the machine; workers may use `cores` of it."""

    number: int
    cores: int
    sample: Sample


@dataclass(frozen=True, kw_only=True)
class Time:
    """Time a core and memory, while no worker runs; answered by Done with their paces."""

    number: int


@dataclass(frozen=True, kw_only=True)
class Done:
    number: int
    said: str = ""
    paces: Paces | None = None


@dataclass(frozen=True, kw_only=True)
class Alive:
    """A keeper's word each second."""

    free_bytes: int


@dataclass(frozen=True, kw_only=True)
class Goodbye:
    """End all workers, and leave."""


KINDS = {
    kind.__name__: kind
    for kind in (
        Challenge, Answer, Welcome, Here, Accepted, Refused, Launch, Launched, Ended, Signal, Watch,
        Unwatch, Sampled, Time, Done, Alive, Goodbye,
    )
}  # fmt: skip


def decode(line: bytes) -> object:
    """The message of one line; raises Malformed. What another version says beyond it is no harm."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        raise Malformed(f"not JSON: {line[:80]!r}") from None
    name = body.pop("message", None) if isinstance(body, dict) else None
    if not isinstance(name, str) or name not in KINDS:
        raise Malformed(f"no message of a keeper: {line[:80]!r}")
    return read_fields(KINDS[name], body, where=name, lenient=True)


@dataclass
class Line:
    """One connection, from either side. Several threads may send; one at a time receives."""

    socket: socket.socket
    _received: bytearray = field(default_factory=bytearray)
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, seconds in (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):  # of Linux
                self.socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)

    def controls(self) -> None:
        """What is sent on it is received soon, or it is over.

        Not so where a worker answers: who is stopped or busy receives nothing for long.
        """
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_SECONDS * 1000)

    def send(self, message: object) -> None:
        """Raises OSError."""
        with self._sending:
            self.socket.sendall(wire.encode(message))

    def receive(self, kind: type[T], *, seconds: float) -> T:
        """The next message, which is to be a `kind`.

        Raises OSError (TimeoutError is one), EOFError, or Malformed.
        """
        deadline = time.monotonic() + seconds
        readable = select.poll()
        readable.register(self.socket, select.POLLIN)
        while (message := self._next()) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not readable.poll(1e3 * left):
                raise TimeoutError(f"nothing came within {seconds:g} s")
            self._read()
        if not isinstance(message, kind):
            said = message.reason if isinstance(message, Refused) else type(message).__name__
            raise Malformed(said)
        return message

    def pending(self) -> list[object]:
        """All that has come, without a wait; raises OSError, EOFError or Malformed."""
        try:
            while True:
                self._read()
        except BlockingIOError:
            pass
        except (EOFError, OSError):
            if b"\n" not in self._received:  # what was said before the end counts
                raise
        found = []
        while (message := self._next()) is not None:
            found.append(message)
        return found

    def _next(self) -> object | None:
        """What has come and was not taken yet; raises Malformed."""
        end = self._received.find(b"\n")
        if end < 0:
            if len(self._received) > LONGEST_LINE:
                raise Malformed("a line without end")
            return None
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return decode(line)

    def _read(self) -> None:
        if not (chunk := self.socket.recv(CHUNK_BYTES, socket.MSG_DONTWAIT)):
            raise EOFError("the other end hung up")
        self._received += chunk

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
