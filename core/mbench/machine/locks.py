"""File locks, on file systems that may have none, or whose lock daemon does not answer."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import threading
from typing import TYPE_CHECKING

from mbench.errors import MbenchError
from mbench.files import Unreadable, small_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["lock", "lock_file_alone"]

ANSWER_SECONDS = 10.0
"""Longest wait for a file system. NFS without its lock daemon may never answer, not even to a
request that should not block, and such a wait cannot be interrupted."""


def lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed; False if its file system has no locks.

    Raises BlockingIOError if another process holds it.
    """
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    own = os.dup(descriptor)  # the number may be another file's once we have given up
    found: list[OSError | None] = []

    def ask() -> None:
        try:
            fcntl.flock(own, kind | fcntl.LOCK_NB)
            found.append(None)
        except OSError as error:
            found.append(error)
        finally:
            os.close(own)

    asking = threading.Thread(target=ask, name="mbench-lock", daemon=True)
    asking.start()
    asking.join(ANSWER_SECONDS)
    if found and isinstance(found[0], BlockingIOError):
        raise found[0]
    return found == [None]


@contextlib.contextmanager
def lock_file_alone(file: Path, *, doing: str) -> Iterator[None]:
    """Create a file and hold it exclusively, on a file system without locks.

    Raises MbenchError if another process has created it, unless that process ran on this machine
    and has ended. Raises OSError if the file cannot be created.
    """
    for _ in range(2):
        try:
            made = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            _refuse_unless_gone(file, doing)
            file.unlink(missing_ok=True)
        else:
            break
    else:
        raise MbenchError(f"{file} keeps reappearing: another mbench is {doing}; try again later")
    try:
        with os.fdopen(made, "w") as holder:
            holder.write(f"{socket.gethostname()} {os.getpid()}\n")
        yield
    finally:
        file.unlink(missing_ok=True)


def _refuse_unless_gone(file: Path, doing: str) -> None:
    """Raises MbenchError unless the file's process has ended."""
    with contextlib.suppress(Unreadable, ValueError):
        host, _, pid = small_text(file).strip().partition(" ")
        if host == socket.gethostname():
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                return
    raise MbenchError(
        f"the file system has no locks, and {file} says that another mbench is {doing}: wait "
        "until it ends, or delete that file if no other mbench is running"
    )
