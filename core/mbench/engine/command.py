"""The command by which a cluster's engine starts keepers, as a process that does not outlive us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Protocol

from mbench.engine.scratch import Folder
from mbench.machine.process_end import bound, ending, last_words
from mbench.machine.process_tree import VARIABLE, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Command", "Engine", "gist"]

LEAVE_SECONDS = 3.0
LONGEST = 300
OURS = "mbench's keeper on "


class Engine(Protocol):
    """A cluster's own means to start one process on each of some nodes."""

    name: str
    """Of what runs here, in words."""

    def command(self, nodes: int, keeper: Sequence[str], named: Sequence[str]) -> Sequence[str]:
        """The words that start `keeper` on each node; it needs our variables of these names."""


class Command:
    """What an engine was told to do. It is ended with its children; who was started elsewhere ends
    as it finds its parent gone.
    """

    def __init__(self, name: str, words: Sequence[str], variables: Mapping[str, str]) -> None:
        """Raises OSError."""
        self.name = name
        self._folder = Folder()
        self.log = self._folder.path / "engine.log"
        self._kin = ProcessTree()
        held_by_watcher, self._leash = os.pipe()
        try:
            with self.log.open("ab") as output:
                self.process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, **variables, VARIABLE: self._kin.mark},
                    start_new_session=True,  # Ctrl-C is ours to hear
                )
            self._watcher = self._kin.watcher(self.process.pid, held_by_watcher)
        except BaseException:
            os.close(self._leash)
            self._folder.close()
            raise
        finally:
            os.close(held_by_watcher)

    def ended(self) -> str:
        """How it ended, in words; empty while it runs."""
        bound(self.log)
        code = self.process.poll()
        if code is None:
            return ""
        said = gist(last_words(self.log))
        return f"{self.name} {ending(code)}" + (f", saying: {said}" if said else "")

    def close(self) -> None:
        """Let it end by itself, in a moment, or end it. May be called more than once."""
        if self._leash < 0:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(LEAVE_SECONDS)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)  # engines pass it on to other machines
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(LEAVE_SECONDS)
        self._watcher.kill()
        self._watcher.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
        self._kin.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(LEAVE_SECONDS)
        os.close(self._leash)
        self._leash = -1
        self._folder.close()


def gist(said: str) -> str:
    """What matters of an engine's words, in one line: a keeper's own, else those that came first.

    Engines draw boxes around what they say, and tell what they did then.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip(" -=*")]
    if ours := next((line for line in lines if OURS in line), ""):
        return ours[ours.index(OURS) :][:LONGEST]
    return " ".join(lines)[:LONGEST]
