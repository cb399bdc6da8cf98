"""The command with which a cluster's engine starts agents; it does not outlive our process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Protocol

from mbench.engine.isolation import TemporaryFolder
from mbench.machine.absence import wait_until
from mbench.machine.process_end import bound, ending, last_words
from mbench.machine.process_tree import VARIABLE, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Command", "Engine", "gist"]

LEAVE_SECONDS = 3.0
LONGEST = 300
OURS = "mbench's agent on "


class Engine(Protocol):
    """A cluster's own way to start one process on each of several nodes."""

    name: str
    """The name of its program, for messages."""

    def command(self, nodes: int, agent: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        """The command line that starts `agent` on each node with our variables in `named`."""


class Command:
    """A running command of an engine. Its children end with it; processes on other machines end
    when they find their parent gone.
    """

    def __init__(self, name: str, words: Sequence[str], variables: Mapping[str, str]) -> None:
        """Raises OSError."""
        self.name = name
        self._folder = TemporaryFolder()
        self.log = self._folder.path / "engine.log"
        self._tree = ProcessTree()
        held_by_watcher, self._leash = os.pipe()
        try:
            with self.log.open("ab") as output:
                self.process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, **variables, VARIABLE: self._tree.mark},
                    start_new_session=True,  # we handle Ctrl-C
                )
            self._watcher = self._tree.watcher(self.process.pid, held_by_watcher)
        except BaseException:
            os.close(self._leash)
            self._folder.close()
            raise
        finally:
            os.close(held_by_watcher)

    def ended(self) -> str:
        """How it ended; empty while it runs."""
        bound(self.log)
        code = self.process.poll()
        if code is None:
            return ""
        said = gist(last_words(self.log))
        return f"{self.name} {ending(code)}" + (f", saying: {said}" if said else "")

    def close(self) -> None:
        """Wait briefly for it to end, then end it. May be called more than once."""
        if self._leash < 0:
            return
        if not self._leaves():
            self.process.send_signal(signal.SIGTERM)  # engines pass it on to other machines
            self._leaves()
        self._watcher.kill()
        self._watcher.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        self._tree.kill()
        self._leaves()
        os.close(self._leash)
        self._leash = -1
        self._folder.close()

    def _leaves(self) -> bool:
        return wait_until(lambda: self.process.poll() is not None, seconds=LEAVE_SECONDS)


def gist(said: str) -> str:
    """The relevant part of an engine's output, in one line: an agent's message, or the beginning.

    Engines draw boxes around messages, and add what they did afterwards.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip(" -=*")]
    if ours := next((line for line in lines if OURS in line), ""):
        return ours[ours.index(OURS) :][:LONGEST]
    return " ".join(lines)[:LONGEST]
