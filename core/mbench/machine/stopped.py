"""Whether the kernel reports that a process is stopped by a signal or frozen with its cgroup."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["Look", "all_stopped", "is_stopped"]

PROCESSES = Path("/proc")
STOPPED, WAITING = "T", "DS"
RESTING = "TtZX"
"""States in /proc/PID/stat. A frozen process is shown as sleeping or waiting; a thread in a RESTING
state executes nothing."""
FROZEN = (
    ("/sys/fs/cgroup{}/cgroup.events", "frozen 1"),
    ("/sys/fs/cgroup/unified{}/cgroup.events", "frozen 1"),
    ("/sys/fs/cgroup/freezer{}/freezer.state", "FROZEN"),
)
"""Files of a cgroup, in versions 2 and 1, and what they contain for a frozen one."""


def state_of(pid: int) -> tuple[str, int]:
    """A process's state, and the ticks of processor time that it has used; raises OSError."""
    line = (PROCESSES / str(pid) / "stat").read_bytes()
    fields = line[line.rindex(b")") + 2 :].split()
    return fields[0].decode(), int(fields[11]) + int(fields[12])


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped a process; False if it has ended."""
    try:
        return state_of(pid)[0] == STOPPED
    except (OSError, ValueError):
        return False


def all_stopped(pid: int) -> bool:
    """Whether each thread of a process is stopped: a thread in a system call finishes that first.
    True for a process that has ended.
    """
    try:
        threads = os.listdir(PROCESSES / str(pid) / "task")
    except OSError:
        return True
    for thread in threads:
        try:
            if state_of(int(thread))[0] not in RESTING:
                return False
        except (OSError, ValueError):
            continue  # it has ended
    return True


def is_frozen(pid: int) -> bool:
    """Whether a process is frozen with its cgroup."""
    try:
        lines = (PROCESSES / str(pid) / "cgroup").read_text().splitlines()
    except OSError:
        return False
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers not in ("", "freezer"):
            continue
        for file, words in FROZEN:
            try:
                if words in Path(file.format(path)).read_text():
                    return True
            except OSError:
                continue
    return False


class Look:
    """Checks now and then whether a process that should run is held."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.since: float | None = None
        """When it was first seen to be held, on the monotonic clock; None while it is not."""
        self.ended = 0.0
        """When it was seen to run again."""
        self._used = -1

    def take(self) -> bool:
        """Whether it is held now."""
        held = self._is_held()
        if held and self.since is None:
            self.since = time.monotonic()
        elif not held and self.since is not None:
            self.since, self.ended = None, time.monotonic()
        return held

    def _is_held(self) -> bool:
        try:
            state, used = state_of(self.pid)
        except (OSError, ValueError):
            return False
        idle, self._used = used == self._used, used
        if state == STOPPED:
            return True
        # Cgroups are checked only if a process seems idle, because that takes reading some files.
        return idle and state in WAITING and is_frozen(self.pid)
