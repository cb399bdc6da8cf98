"""Runs helper programs: bounded in time and output, and ended with everything that they started.

Other people's programs hang, flood their output, leave children behind, and ignore signals. mbench
starts everything here, except workers and node agents.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import selectors
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.machine.absence import awake
from mbench.machine.process_end import end_of, ending, has_ended
from mbench.machine.process_tree import VARIABLE, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import IO

__all__ = ["Answer", "NoAnswer", "ask", "lines_of", "started"]

KILL_SECONDS = 10.0
MOST_BYTES = 2**24
"""Most bytes of stdout and stderr together."""
LONGEST = 300
"""Most characters of a program's last words."""
LINE_BYTES, PIPE_BYTES = 2**16, 2**20
LOOK_SECONDS = 0.1
"""Time between two checks for a program's end, where the system does not report it."""


class NoAnswer(Exception):
    """A program did not start, did not end in time, or printed too much; says which in one line."""

    def __init__(self, outcome: str, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome
        """`timeout` or `failed`."""


@dataclass(frozen=True)
class Answer:
    """What a program printed before it ended."""

    name: str
    code: int
    output: str
    errors: str

    @property
    def failure(self) -> str:
        """How it failed, with its last words, in one line; empty if it did not."""
        if not self.code:
            return ""
        said = " ".join((self.errors.strip() or self.output).split())[:LONGEST]
        return f"{self.name} {ending(self.code)}" + (f": {said}" if said else "")


def ask(
    command: Sequence[str],
    *,
    seconds: float,
    variables: Mapping[str, str] | None = None,
    descriptors: Sequence[int] = (),
) -> Answer:
    """Run a program to its end, with additional environment `variables` and open `descriptors`;
    raises NoAnswer.

    Children that still run when it ends are killed, and their output is no longer read.
    """
    name = Path(command[0]).name
    with started(command, variables=variables, descriptors=descriptors) as process:
        output, errors = _read(process, name, seconds)
        code = process.wait(KILL_SECONDS)
    return Answer(name, code, output.decode(errors="replace"), errors.decode(errors="replace"))


@contextlib.contextmanager
def started(
    command: Sequence[str],
    *,
    variables: Mapping[str, str] | None = None,
    descriptors: Sequence[int] = (),
    errors: int = subprocess.PIPE,
) -> Iterator[subprocess.Popen[bytes]]:
    """A program whose output can be read; raises NoAnswer if it does not start.

    When the block is left, or mbench ends in any way, it is killed with its children.
    """
    tree = ProcessTree()
    held_by_watcher, leash = os.pipe()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=descriptors,
            env={**os.environ, **(variables or {}), VARIABLE: tree.mark},
            start_new_session=True,  # so that Ctrl-C reaches mbench only
        )
    except OSError as error:
        os.close(leash)
        reason = f"{command[0]} does not start: {error.strerror or error}"
        raise NoAnswer("failed", reason) from None
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
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        tree.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it may hang in the kernel
            process.wait(KILL_SECONDS)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def lines_of(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """What a program prints, line by line, while it runs; a long line comes in parts.

    It does not wait for children that the program left behind.
    """
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    rest, ended = "", False
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    pidfd = end_of(process.pid)
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        if pidfd is not None:
            waiting.register(pidfd, selectors.EVENT_READ)
        try:
            while not ended:
                waiting.select(LOOK_SECONDS if pidfd is None else None)
                ended = has_ended(process.pid)
                some = bytearray()
                # A pipe holds at most this much of its last output; children may print for ever.
                if not _take(process.stdout, some, most=PIPE_BYTES if ended else LINE_BYTES):
                    ended = True
                rest += decoder.decode(some)
                *whole, rest = rest.splitlines(keepends=True) or [""]
                if rest.endswith("\n") or len(rest) > LINE_BYTES:
                    whole, rest = [*whole, rest], ""
                yield from whole
        finally:
            if pidfd is not None:
                os.close(pidfd)
    if rest:
        yield rest


def _read(process: subprocess.Popen[bytes], name: str, seconds: float) -> tuple[bytes, bytes]:
    """Both streams until the program has ended or closed them; raises NoAnswer."""
    assert process.stdout is not None
    assert process.stderr is not None
    found = {process.stdout: bytearray(), process.stderr: bytearray()}
    deadline = awake() + seconds
    pidfd = end_of(process.pid)
    with selectors.DefaultSelector() as waiting:
        for stream in found:
            os.set_blocking(stream.fileno(), False)
            waiting.register(stream, selectors.EVENT_READ)
        if pidfd is not None:
            waiting.register(pidfd, selectors.EVENT_READ)
        try:
            ended = False
            while not ended:
                left = deadline - awake()
                if left <= 0:
                    raise NoAnswer("timeout", f"no answer from {name} within {seconds:g} s")
                waiting.select(min(left, LOOK_SECONDS if pidfd is None else left))
                ended = has_ended(process.pid)  # before its last output is read
                for stream in [one for one in found if one in waiting.get_map()]:
                    if not _take(stream, found[stream]):
                        waiting.unregister(stream)
                if sum(map(len, found.values())) > MOST_BYTES:
                    reason = f"{name} printed more than {MOST_BYTES // 2**20} MiB"
                    raise NoAnswer("failed", reason)
        finally:
            if pidfd is not None:
                os.close(pidfd)
    output, errors = found.values()
    return bytes(output), bytes(errors)


def _take(stream: IO[bytes], found: bytearray, *, most: int = MOST_BYTES) -> bool:
    """Append what can be read now, until there is more than `most`; False at the stream's end."""
    while len(found) <= most:
        try:
            some = os.read(stream.fileno(), 2**16)
        except BlockingIOError:
            return True
        if not some:
            return False
        found += some
    return True
