"""Runs a command to its end. The command ends with mbench, however mbench ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract.outcome import OUTCOMES
from mbench.errors import MbenchError
from mbench.machine.process_end import ending
from mbench.machine.process_tree import VARIABLE, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["DiskEnded", "output_of"]

KILL_SECONDS = 10.0
LONGEST = 300
"""Characters of an error message that are shown."""


class DiskEnded(MbenchError):
    """Why a disk, or one of its jobs, cannot be measured."""

    def __init__(self, outcome: str, reason: str) -> None:
        assert outcome in OUTCOMES, outcome
        super().__init__(f"{outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason


def output_of(command: Sequence[str], *, limit: float, descriptors: Sequence[int] = ()) -> str:
    """The command's stdout; raises DiskEnded if it fails or takes longer than `limit` seconds."""
    name = Path(command[0]).name
    with started(command, descriptors) as process:
        try:
            output, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            reason = f"no answer from {name} within {limit:g} s"
            raise DiskEnded("timeout", reason) from None
    text = output.decode(errors="replace")
    if process.returncode:
        message = " ".join((errors.decode(errors="replace") or text).split())[:LONGEST]
        reason = f"{name} {ending(process.returncode)}"
        raise DiskEnded("failed", f"{reason}: {message}" if message else reason)
    return text


@contextlib.contextmanager
def started(
    command: Sequence[str], descriptors: Sequence[int]
) -> Iterator[subprocess.Popen[bytes]]:
    """The command's process, which is killed if the block is left before it ends."""
    tree = ProcessTree()
    held_by_watcher, leash = os.pipe()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=descriptors,
            env={**os.environ, VARIABLE: tree.mark},
            start_new_session=True,  # so that Ctrl-C reaches mbench only
        )
    except OSError as error:
        os.close(leash)
        raise DiskEnded("failed", f"{command[0]} does not start: {error.strerror}") from None
    else:
        watcher = tree.watcher(process.pid, held_by_watcher)
    finally:
        os.close(held_by_watcher)
    try:
        yield process
    finally:
        watcher.kill()
        watcher.wait()
        os.close(leash)
        tree.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may hang in the kernel
            process.wait(KILL_SECONDS)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
