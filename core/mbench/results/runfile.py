"""The file of a run: one writer at a time, and readers that cope with whatever is in its place."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from mbench.console import tell
from mbench.contract.reading import Malformed
from mbench.errors import MbenchError, why
from mbench.files import opened, write_whole
from mbench.machine.locks import lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["LARGEST_BYTES", "LONGEST_LINE", "LongLine", "RunFile", "lines_of", "raw_lines_of"]

LARGEST_BYTES = 2**27
"""Largest file that is read or written: about a day of measuring."""
LONGEST_LINE = 2**23
SPARE_BYTES = 2**16
"""Bytes that a writer keeps free, so that a run whose file is full can still be closed."""


class LongLine(MbenchError):
    """A line is longer than any that mbench writes."""


class RunFile:
    """A run's file, written by one process at a time, in whole lines; each is in the file when
    `append` returns.
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        """Open and lock the file; raises MbenchError if another process holds it, and OSError."""
        self.path = path
        flags = os.O_CREAT | os.O_EXCL if new else os.O_NONBLOCK
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | flags, 0o666)
        self._size = os.fstat(self._descriptor).st_size
        try:
            if not lock(self._descriptor):
                tell(f"{path.parent}: the file system has no locks, so nothing keeps a second "
                     "mbench from writing this run")  # fmt: skip
        except BlockingIOError:
            self.close()
            raise MbenchError(
                f"{path.parent} is still being measured; wait until it ends, or stop that mbench"
            ) from None

    def append(self, line: str, *, spare: int = SPARE_BYTES) -> None:
        """Write a line; raises Malformed if no reader would accept it, OSError if it cannot be
        written, and MbenchError if nothing more can ever be.
        """
        left = line.encode() + b"\n"
        if len(left) > LONGEST_LINE:
            raise Malformed(f"{len(left)} bytes in one event, at most {LONGEST_LINE} can be read")
        size = self._checked_size()
        if size + len(left) + spare > LARGEST_BYTES:
            raise MbenchError(
                f"{self.path} is full: a run holds at most {LARGEST_BYTES >> 20} MiB; measure the "
                "rest in a separate run"
            )
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            self.cut(size)
            raise OSError(error.errno, error.strerror, self.path) from None
        self._size = os.fstat(self._descriptor).st_size

    def _checked_size(self) -> int:
        """The size of the file; raises MbenchError if others could not find what is written, or if
        something else writes to it too.
        """
        about = os.fstat(self._descriptor)
        try:
            named: os.stat_result | None = os.stat(self.path)
        except OSError:
            named = None
        if named is None or not os.path.samestat(about, named):
            raise MbenchError(
                f"{self.path} was {self._fate(about)} while it was being written, so nothing more "
                "is measured"
            )
        if about.st_size < self._size:
            raise MbenchError(
                f"something else truncated {self.path} to {about.st_size:,} of its {self._size:,} "
                "bytes, so nothing more is measured: measure again"
            )
        if about.st_size > self._size:
            raise MbenchError(
                f"something else added {about.st_size - self._size:,} bytes to {self.path}, so "
                "nothing more is measured; --resume removes them and measures the rest"
            )
        return about.st_size

    def _fate(self, about: os.stat_result) -> str:
        """What happened to the file, and where it is now, as far as the system says."""
        if not about.st_nlink:
            return "removed"
        with contextlib.suppress(OSError):
            now = os.readlink(f"/proc/self/fd/{self._descriptor}")
            if os.path.samestat(about, os.stat(now)):
                return f"moved to {now}"
        return "hidden by another file or file system"

    def cut(self, size: int) -> None:
        """Keep only the first `size` bytes."""
        os.ftruncate(self._descriptor, size)
        self._size = size

    def content(self, *, start: int = 0) -> bytes:
        """What the file holds from `start` on."""
        return os.pread(self._descriptor, LARGEST_BYTES, start)

    def keep_rest(self, start: int) -> Path:
        """Write what the file holds from `start` on to another file, whose path is returned."""
        rest = self.path.with_name(f"{self.path.name}.cut")
        write_whole(rest, self.content(start=start))
        return rest

    def close(self) -> None:
        """Close the file; may be called more than once."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1


def lines_of(path: Path, *, most: float = LARGEST_BYTES) -> Iterator[str]:
    """The lines of a file, with their line ends; raises MbenchError if it is not the file of a run.

    Lines end at line feeds only: texts may hold characters that end lines elsewhere.
    """
    for line in raw_lines_of(path, most=most):
        yield line.decode("utf-8", errors="replace")


def raw_lines_of(path: Path, *, most: float = LARGEST_BYTES) -> Iterator[bytes]:
    """The same lines as they are stored on disk."""
    try:
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise MbenchError(
                    f"cannot read {path}: it has {size >> 20} MiB, but a run may have at most "
                    f"{LARGEST_BYTES >> 20}; mbench export and mbench history read larger files"
                )
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise LongLine(
                        f"cannot read {path}: a line is longer than any that mbench writes"
                    )
                yield line
    except OSError as error:
        raise MbenchError(f"cannot read {path}: {why(error)}") from None
