"""All processes of a worker, including those that left its group: they inherit a variable.

Run as a script, it is the watcher, which ends them when mbench has ended for any reason.

Usage: python process_tree.py GROUP MARK READ_FD
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
KILL_TRIES = 2000
"""Most tries, a millisecond apart, for processes that fork faster than they are found. Unlike a
time limit, tries are not used up while mbench itself is stopped.
"""


class ProcessTree:
    """The processes with one worker's mark, in any group or session.

    A process escapes only if it leaves the group and clears its environment, or if the system does
    not show environments.
    """

    def __init__(self, mark: str = "") -> None:
        self.mark = mark or os.urandom(16).hex()
        self._wanted = f"{VARIABLE}={self.mark}".encode()
        self._strangers: set[str] = set()

    def living(self) -> list[int]:
        """Their pids. Processes known to be strangers are not read again; each read takes 10 us."""
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
        """End them all, including those that start meanwhile."""
        self._strangers = set()  # a pid may belong to another process by now
        for _ in range(KILL_TRIES):
            if not self.living():
                break
            self.signal(signal.SIGKILL)
            time.sleep(0.001)

    def watcher(self, group: int, read_fd: int) -> subprocess.Popen[bytes]:
        """A process that ends them and the group once the other end of the pipe is closed.

        It has a session of its own, so signals to their group or the terminal's do not reach it.
        """
        import subprocess  # not needed by the watcher itself

        return subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(group), self.mark, str(read_fd)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(read_fd,),
            start_new_session=True,
        )


def watch(group: int, tree: ProcessTree, read_fd: int) -> None:
    hung_up = select.poll()
    hung_up.register(read_fd, 0)
    hung_up.poll()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    tree.kill()


if __name__ == "__main__":
    watch(int(sys.argv[1]), ProcessTree(sys.argv[2]), int(sys.argv[3]))
