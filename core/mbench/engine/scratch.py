"""Temporary folders of ours, and the one where a command's workers keep their files.

Each command has a new one: a compiler that is killed leaves half a file behind, and the next would
take it for a kernel. Who is killed cannot remove his folder; the next one to make a folder does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Folder", "folder", "scratch", "variables"]

PREFIX = "mbench-"
OWNER = ".owner"
"""A file that is locked as long as its folder's owner lives: the system lets go of it, whatever
ended him, and numbers of processes say nothing where several containers share a folder."""

_open: list[str] = []
"""The folders of this process, the innermost last."""


class Folder:
    """A temporary folder of this process, until it is closed."""

    def __init__(self) -> None:
        """Make it, and remove those whose owners are gone."""
        sweep(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        new = self.path / f"{OWNER}.new"
        self._lock = os.open(new, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):  # of a file system without locks: nobody sweeps there
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            new.rename(self.path / OWNER)  # nobody sees it before it is locked

    def close(self) -> None:
        """May be called more than once."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
            shutil.rmtree(self.path, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove folders of ours whose owners are gone."""
    for owner in parent.glob(f"{PREFIX}*/{OWNER}"):
        try:
            if owner.parent.is_symlink() or owner.parent.stat().st_uid != os.geteuid():
                continue
            lock = os.open(owner, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # somebody else's, or it is just being removed
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
        else:
            shutil.rmtree(owner.parent, ignore_errors=True)
        finally:
            os.close(lock)


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder, as long as the block lasts."""
    made = Folder()
    try:
        yield made.path
    finally:
        made.close()


@contextmanager
def scratch() -> Iterator[None]:
    """Workers that start meanwhile keep temporary files in a folder that is removed afterwards."""
    with folder() as path:
        _open.append(str(path))
        try:
            yield
        finally:
            _open.remove(str(path))


def variables() -> Mapping[str, str]:
    """What tells a worker of it; nothing where none is open."""
    return {"TMPDIR": _open[-1]} if _open else {}
