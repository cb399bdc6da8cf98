"""Runs a command to its end, which ends with us, whatever ends us."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING

from mbench.machine.disk.outcome import DiskEnded
from mbench.machine.process_end import ending
from mbench.machine.process_tree import VARIABLE, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["called"]

KILL_SECONDS = 10.0
LONGEST = 300


def called(command: Sequence[str], *, limit: float, descriptors: Sequence[int] = ()) -> str:
    """What `command` says on stdout within `limit` seconds; raises DiskEnded."""
    with started(command, descriptors) as process:
        try:
            told, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            reason = f"no answer from {named(command)} within {limit:g} s"
            raise DiskEnded("timeout", reason) from None
    out = told.decode(errors="replace")
    if process.returncode:
        said = " ".join((errors.decode(errors="replace") or out).split())[:LONGEST]
        reason = f"{named(command)} {ending(process.returncode)}"
        raise DiskEnded("failed", f"{reason}, saying: {said}" if said else reason)
    return out


def named(command: Sequence[str]) -> str:
    return os.path.basename(command[0])


@contextlib.contextmanager
def started(
    command: Sequence[str], descriptors: Sequence[int]
) -> Iterator[subprocess.Popen[bytes]]:
    """Its process, which is killed where it is left before its end."""
    kin = ProcessTree()
    held_by_watcher, leash = os.pipe()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=descriptors,
            env={**os.environ, VARIABLE: kin.mark},
            start_new_session=True,  # Ctrl-C is ours to hear
        )
    except OSError as error:
        os.close(leash)
        raise DiskEnded("failed", f"{command[0]} does not start: {error.strerror}") from None
    else:
        watcher = kin.watcher(process.pid, held_by_watcher)
    finally:
        os.close(held_by_watcher)
    try:
        yield process
    finally:
        watcher.kill()
        watcher.wait()
        os.close(leash)
        kin.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may hang in the kernel
            process.wait(KILL_SECONDS)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
