"""Messages to and from one process: bytes, lines and time limits."""

from __future__ import annotations

import contextlib
import math
import os
import select
import time
from typing import TypeVar

from mbench.contract import wire
from mbench.contract.reading import Malformed

__all__ = ["Channel"]

CHUNK_BYTES = 2**16
LONGEST_LINE = 64 * 2**20
MOST_MILLISECONDS = 2**31 - 1  # of poll(2)

T = TypeVar("T")


class Channel:
    """A pipe each way, or a socket.

    Raises TimeoutError where a time limit has passed, EOFError where nobody is at the other end,
    and Malformed for what is no answer.
    """

    def __init__(self, *, sends: int, receives: int, ends: int | None = None) -> None:
        """`ends` is readable once the other side has ended, though a child of its own may still
        hold the pipe; without it, only a closed pipe tells. All three are the channel's to close.
        """
        self._descriptors = {sends, receives} | ({ends} if ends is not None else set())
        self._sends, self._receives = sends, receives
        self._received = b""
        os.set_blocking(sends, False)
        self._writable = select.poll()
        self._writable.register(sends, select.POLLOUT)
        self._readable = select.poll()
        self._readable.register(receives, select.POLLIN)
        if ends is not None:
            self._readable.register(ends, select.POLLIN)

    def send(self, message: object, *, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        left = wire.encode(message)
        while left:
            wait(self._writable, deadline)
            try:
                left = left[os.write(self._sends, left) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise EOFError from None

    def receive(self, answer: type[T], *, seconds: float) -> T | wire.Failure:
        """The next message, which is to be an `answer`, or a failure in its place."""
        message = wire.decode(self._line(time.monotonic() + seconds))
        if isinstance(message, (answer, wire.Failure)):
            return message
        raise Malformed(f"{type(message).__name__}, where {answer.__name__} is due")

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._received:
            if self._receives not in wait(self._readable, deadline):
                raise EOFError  # what was said before the end has been read by now
            if not (chunk := os.read(self._receives, CHUNK_BYTES)):
                raise EOFError
            self._received += chunk
            if len(self._received) > LONGEST_LINE:
                raise Malformed("a line without end")
        line, _, self._received = self._received.partition(b"\n")
        return line

    @property
    def closed(self) -> bool:
        return not self._descriptors

    def close(self) -> None:
        """May be called more than once."""
        while self._descriptors:
            with contextlib.suppress(OSError):
                os.close(self._descriptors.pop())


def wait(poll: select.poll, deadline: float) -> list[int]:
    """The descriptors that are ready; raises TimeoutError."""
    while True:
        milliseconds = max(0, math.ceil((deadline - time.monotonic()) * 1e3))
        if ready := poll.poll(min(milliseconds, MOST_MILLISECONDS)):
            return [descriptor for descriptor, _ in ready]
        if time.monotonic() >= deadline:
            raise TimeoutError
