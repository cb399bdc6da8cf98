"""All processes of a worker, also those that left its group: found by a variable they inherit.

As a script it is the watcher, which ends them when mbench is gone, whatever ended it.

Usage: python kin.py GROUP MARK READ_FD
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

__all__ = ["VARIABLE", "ProcessTree"]

VARIABLE = "MBENCH_WORKER"
PROCESSES = "/proc"
KILL_SECONDS = 2.0
"""Of killing what forks faster than it is found."""


class ProcessTree:
    """The processes that hold one worker's mark, in whatever group or session they are.

    A process escapes only by leaving the group and throwing its variables away, or where the system
    does not show variables.
    """

    def __init__(self, mark: str = "") -> None:
        self.mark = mark or os.urandom(16).hex()
        self._wanted = f"{VARIABLE}={self.mark}".encode()
        self._strangers: set[str] = set()

    def living(self) -> list[int]:
        """Looks at processes that are new since the last time, which takes 10 us each."""
        there = os.listdir(PROCESSES) if os.path.isdir(PROCESSES) else []
        names = {name for name in there if name.isdigit()}
        ours = {name for name in names - self._strangers if self._is_ours(name)}
        self._strangers = names - ours
        return [int(name) for name in ours]

    def _is_ours(self, name: str) -> bool:
        with contextlib.suppress(OSError), open(f"{PROCESSES}/{name}/environ", "rb") as file:
            return self._wanted in file.read().split(b"\0")
        return False

    def signal(self, number: signal.Signals) -> None:
        for pid in self.living():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End them all, those included that come to be meanwhile."""
        deadline = time.monotonic() + KILL_SECONDS
        self._strangers = set()  # a number may be another process's by now
        while self.living() and time.monotonic() < deadline:
            self.signal(signal.SIGKILL)
            time.sleep(0.001)

    def watcher(self, group: int, read_fd: int) -> subprocess.Popen[bytes]:
        """A process that ends them, and the group, once the other end of the pipe is closed.

        It is in no group of theirs or of the terminal's: what stops those does not stop it.
        """
        import subprocess  # which the watcher itself does without

        return subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(group), self.mark, str(read_fd)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(read_fd,),
            start_new_session=True,
        )


def watch(group: int, kin: ProcessTree, read_fd: int) -> None:
    hung_up = select.poll()
    hung_up.register(read_fd, 0)
    hung_up.poll()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    kin.kill()


if __name__ == "__main__":
    watch(int(sys.argv[1]), ProcessTree(sys.argv[2]), int(sys.argv[3]))
