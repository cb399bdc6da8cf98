"""JSON lines over pipes and sockets: framing, time limits, and who sends what."""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import sys
import threading
from typing import TYPE_CHECKING, TypeVar

from mbench.contract import wire
from mbench.contract.reading import Malformed
from mbench.engine import agent_protocol
from mbench.engine.agent_protocol import Refused
from mbench.machine.absence import awake

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Channel", "Connection", "LineBuffer"]

CHUNK_BYTES = 2**16
LOOK_SECONDS = 0.3
"""Longest wait before `meanwhile` is called; a block of the usual length ends before that."""
LONGEST_ANSWER = 64 * 2**20
LONGEST_MESSAGE = 2**20
"""The most bytes in a line: LONGEST_ANSWER for a worker's, LONGEST_MESSAGE for an agent's."""
LAST_ACK = slice(56, 60)
"""tcpi_last_ack_recv of struct tcp_info (linux/tcp.h): milliseconds."""
DEAD_SECONDS = 8
"""A control connection is closed if what was sent on it is not received for this long."""

T = TypeVar("T")


class LineBuffer:
    """Bytes as they arrive, taken line by line."""

    def __init__(self, longest: int) -> None:
        self._bytes = bytearray()
        self._searched = 0
        self._longest = longest

    def __bool__(self) -> bool:
        return bool(self._bytes)

    def add(self, chunk: bytes) -> None:
        self._bytes += chunk

    def start(self) -> bytes:
        """The first bytes, for messages about them."""
        return bytes(self._bytes[:80])

    def take(self) -> bytes | None:
        """The first line; None until its end has arrived. Raises Malformed if it is too long."""
        end = self._bytes.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._bytes)
            if self._searched > self._longest:
                raise Malformed("a line that does not end")
            return None
        line = bytes(self._bytes[:end])
        del self._bytes[: end + 1]
        self._searched = 0
        return line


class Channel:
    """Messages between us and one worker, over a socket or a pipe each way.

    Raises TimeoutError if a time limit has passed, EOFError if nobody is at the other end, and
    Malformed for what is not a valid answer.
    """

    def __init__(
        self,
        *,
        sends: int,
        receives: int,
        ends: int | None = None,
        meanwhile: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = awake,
    ) -> None:
        """`ends` is readable once the other side has ended, even if a child of its own still holds
        the pipe; without it, only a closed pipe shows the end. The channel closes all three.
        `meanwhile` is called now and then during long waits. `clock`, in seconds, measures limits.
        """
        self._descriptors = {sends, receives} | ({ends} if ends is not None else set())
        self._sends, self._receives = sends, receives
        self._received = LineBuffer(LONGEST_ANSWER)
        self._meanwhile, self._clock = meanwhile, clock
        os.set_blocking(sends, False)
        self._writable = select.poll()
        self._writable.register(sends, select.POLLOUT)
        self._readable = select.poll()
        self._readable.register(receives, select.POLLIN)
        if ends is not None:
            self._readable.register(ends, select.POLLIN)

    def send(self, message: object, *, seconds: float) -> None:
        """Send a message. Raises Malformed for unrequested output, since the next answer would
        belong to another question.
        """
        if not self._received and self._receives in self._ready(self._readable, 0):
            self._received.add(self._read())
        if self._received:
            raise Malformed(f"unrequested: {self._received.start()!r}")
        deadline = self._clock() + seconds
        left = wire.encode(message)
        while left:
            self._wait(self._writable, deadline)
            try:
                left = left[os.write(self._sends, left) :]
            except BlockingIOError:
                continue
            except OSError:  # the reader of the pipe has ended, or the connection broke
                raise EOFError from None

    def receive(self, answer: type[T], *, seconds: float) -> T | wire.Failure:
        """The next message, which must be an `answer` or a failure."""
        message = wire.decode(self._line(self._clock() + seconds))
        if isinstance(message, (answer, wire.Failure)):
            return message
        raise Malformed(f"{type(message).__name__} instead of {answer.__name__}")

    def _line(self, deadline: float) -> bytes:
        while (line := self._received.take()) is None:
            if self._receives not in self._wait(self._readable, deadline):
                raise EOFError  # everything written before the end has been read by now
            if not (chunk := self._read()):
                raise EOFError
            self._received.add(chunk)
        return line

    def _read(self) -> bytes:
        """What has arrived; empty once the other side has ended or the connection broke."""
        try:
            return os.read(self._receives, CHUNK_BYTES)
        except OSError:
            return b""

    def _wait(self, poll: select.poll, deadline: float) -> list[int]:
        """The descriptors that are ready; raises TimeoutError.

        What is ready counts even after the deadline: this process may have been busy itself.
        """
        while True:
            left = max(0.0, deadline - self._clock())
            if ready := self._ready(poll, min(left, LOOK_SECONDS)):
                return ready
            if not left:
                raise TimeoutError
            self._meanwhile()

    @staticmethod
    def _ready(poll: select.poll, seconds: float) -> list[int]:
        return [descriptor for descriptor, _ in poll.poll(math.ceil(seconds * 1e3))]

    @property
    def awaited(self) -> set[int]:
        """Descriptors that are readable once a message has arrived or the other side has ended."""
        return self._descriptors - {self._sends} | {self._receives} if self._descriptors else set()

    @property
    def closed(self) -> bool:
        return not self._descriptors

    def close(self) -> None:
        """May be called more than once."""
        while self._descriptors:
            with contextlib.suppress(OSError):
                os.close(self._descriptors.pop())


class Connection:
    """Messages between parent and agent, on either side. Several threads may send; one receives."""

    def __init__(self, connected: socket.socket) -> None:
        self.socket = connected
        self._received = LineBuffer(LONGEST_MESSAGE)
        self._sending = threading.Lock()
        connected.settimeout(None)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, seconds in (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):  # Linux only
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)

    def expect_prompt_receipt(self) -> None:
        """Close the connection if what is sent is not received soon.

        Not for workers' connections: one that is stopped or busy receives nothing for a long time.
        """
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_SECONDS * 1000)

    def last_acknowledged(self) -> float:
        """Seconds since the other machine last acknowledged anything, if only a probe; infinite if
        the system does not say.
        """
        with contextlib.suppress(AttributeError, OSError):
            info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LAST_ACK.stop)
            if sys.platform == "linux" and len(info) == LAST_ACK.stop:
                return int.from_bytes(info[LAST_ACK], sys.byteorder) / 1e3
        return math.inf

    def send(self, message: object) -> None:
        """Raises OSError."""
        with self._sending:
            self.socket.sendall(wire.encode(message))

    def receive(self, kind: type[T], *, seconds: float) -> T:
        """The next message, which must be a `kind`.

        Raises OSError (TimeoutError is one), EOFError, or Malformed.
        """
        deadline = awake() + seconds
        readable = select.poll()
        readable.register(self.socket, select.POLLIN)
        while (message := self._next()) is None:
            left = max(0.0, deadline - awake())
            if readable.poll(math.ceil(1e3 * min(left, LOOK_SECONDS))):
                self._read()
            elif not left:
                raise TimeoutError(f"nothing arrived within {seconds:g} s")
        if isinstance(message, kind):
            return message
        raise Malformed(message.reason if isinstance(message, Refused) else type(message).__name__)

    def pending(self) -> list[object]:
        """All messages so far, without waiting; raises OSError, EOFError or Malformed."""
        found: list[object] = []
        ended: Exception | None = None
        try:
            while True:
                self._read()
        except BlockingIOError:
            pass
        except (EOFError, OSError) as error:
            ended = error
        while (message := self._next()) is not None:
            found.append(message)
        if ended and not found:  # messages before the end still count
            raise ended
        return found

    def _next(self) -> object | None:
        line = self._received.take()
        return None if line is None else agent_protocol.decode(line)

    def _read(self) -> None:
        if not (chunk := self.socket.recv(CHUNK_BYTES, socket.MSG_DONTWAIT)):
            raise EOFError("the other end closed the connection")
        self._received.add(chunk)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
