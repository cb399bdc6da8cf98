"""Runs a command on a core of its own: one that no other command run by this script has.

Usage: python on_core.py COMMAND ARGUMENT...

So frameworks have a thread each, where several environments of tox run side by side: threads of two
that share cores wait for each other. Where all cores are taken, the command has all of them.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from pathlib import Path


def take() -> int | None:
    """A core that is this process's until it ends; None where none is free, or can be chosen."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    folder = Path(tempfile.gettempdir()) / f"mbench-cores-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for core in sorted(os.sched_getaffinity(0)):
        lock = os.open(folder / str(core), os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        os.set_inheritable(lock, True)  # by the command; what that starts does not inherit it
        os.sched_setaffinity(0, {core})
        return core
    return None


if __name__ == "__main__":
    take()
    os.execvp(sys.argv[1], sys.argv[1:])
