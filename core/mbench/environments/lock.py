"""Locks on managed environments: for one who builds or removes, and for any number who use."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from mbench.errors import MbenchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["Use", "locked", "unused"]


class Use:
    """An environment in use: nobody removes it while this object lives."""

    def __init__(self, record: Path) -> None:
        """`record` is the environment's own file, so a site's users need not write anywhere."""
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):  # it is not there: the environment is broken
            self._descriptor = os.open(record, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def release(self) -> None:
        """May be called more than once."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    __del__ = release


@contextlib.contextmanager
def unused(record: Path, *, busy: Callable[[], None]) -> Iterator[None]:
    """Nobody begins to use an environment meanwhile; `busy` is called if somebody does already."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(FileNotFoundError):
            file = stack.enter_context(record.open("rb+"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                busy()
        yield


@contextlib.contextmanager
def locked(file: Path, *, busy: Callable[[], None]) -> Iterator[None]:
    """Hold a lock alone; `busy` is called if somebody else has it, and then we wait."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(file, flags, 0o666)
    except OSError as error:  # a folder that others keep
        raise MbenchError(f"cannot lock {file.stem}: {error.strerror}: {error.filename}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            busy()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # The file stays: to delete a lock that others may wait for would give them two.
        os.close(descriptor)
