"""Messages to and from one process: bytes, lines and time limits."""

from __future__ import annotations

import contextlib
import math
import os
import select
import time
from typing import TYPE_CHECKING, TypeVar

from mbench.contract import wire
from mbench.contract.reading import Malformed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Channel"]

CHUNK_BYTES = 2**16
LOOK_SECONDS = 0.3
"""Longest wait without a look around; a block of the usual length is not disturbed by one."""
LONGEST_LINE = 64 * 2**20

T = TypeVar("T")


class Channel:
    """A pipe each way, or a socket.

    Raises TimeoutError where a time limit has passed, EOFError where nobody is at the other end,
    and Malformed for what is no answer.
    """

    def __init__(
        self,
        *,
        sends: int,
        receives: int,
        ends: int | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> None:
        """`ends` is readable once the other side has ended, though a child of its own may still
        hold the pipe; without it, only a closed pipe tells. All three are the channel's to close.
        Who waits long calls `meanwhile` now and then.
        """
        self._descriptors = {sends, receives} | ({ends} if ends is not None else set())
        self._sends, self._receives = sends, receives
        self._received = bytearray()
        self._meanwhile = meanwhile
        os.set_blocking(sends, False)
        self._writable = select.poll()
        self._writable.register(sends, select.POLLOUT)
        self._readable = select.poll()
        self._readable.register(receives, select.POLLIN)
        if ends is not None:
            self._readable.register(ends, select.POLLIN)

    def send(self, message: object, *, seconds: float) -> None:
        """Raises Malformed where something was said unasked: the next answer would be another's."""
        if not self._received and self._receives in self._ready(self._readable, 0):
            self._received += self._read()
        if self._received:
            raise Malformed(f"unasked: {bytes(self._received[:80])!r}")
        deadline = time.monotonic() + seconds
        left = wire.encode(message)
        while left:
            self._wait(self._writable, deadline)
            try:
                left = left[os.write(self._sends, left) :]
            except BlockingIOError:
                continue
            except OSError:  # a pipe whose reader is gone; or a connection broke
                raise EOFError from None

    def receive(self, answer: type[T], *, seconds: float) -> T | wire.Failure:
        """The next message, which is to be an `answer`, or a failure in its place."""
        message = wire.decode(self._line(time.monotonic() + seconds))
        if isinstance(message, (answer, wire.Failure)):
            return message
        raise Malformed(f"{type(message).__name__}, where {answer.__name__} is due")

    def _line(self, deadline: float) -> bytes:
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            if self._receives not in self._wait(self._readable, deadline):
                raise EOFError  # what was said before the end has been read by now
            if not (chunk := self._read()):
                raise EOFError
            self._received += chunk
            if len(self._received) > LONGEST_LINE:
                raise Malformed("a line without end")
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _read(self) -> bytes:
        """What has come; nothing once the other side is gone, or the connection to it broke."""
        try:
            return os.read(self._receives, CHUNK_BYTES)
        except OSError:
            return b""

    def _wait(self, poll: select.poll, deadline: float) -> list[int]:
        """The descriptors that are ready; raises TimeoutError.

        What is there counts after the deadline too: we may have been stopped ourselves.
        """
        while True:
            left = max(0.0, deadline - time.monotonic())
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
        """Descriptors that are readable once something was said, or the other side has ended."""
        return self._descriptors - {self._sends} | {self._receives} if self._descriptors else set()

    @property
    def closed(self) -> bool:
        return not self._descriptors

    def close(self) -> None:
        """May be called more than once."""
        while self._descriptors:
            with contextlib.suppress(OSError):
                os.close(self._descriptors.pop())
