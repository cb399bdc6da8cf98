"""Runs a command on a core of its own: one that no other command run by this script has.

Usage: python on_core.py COMMAND ARGUMENT...

So each framework has a thread on its own core when tox runs several environments side by side:
threads of two that share cores wait for each other. If all cores are taken, the command may use all
of them.
"""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from pathlib import Path


def take() -> int | None:
    """Reserve a core until this process ends; None if none is free, or cores cannot be chosen."""
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
        os.set_inheritable(lock, True)  # the command inherits it; what it starts does not
        os.sched_setaffinity(0, {core})
        return core
    return None


if __name__ == "__main__":
    take()
    os.execvp(sys.argv[1], sys.argv[1:])
