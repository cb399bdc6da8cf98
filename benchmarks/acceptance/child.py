"""Runs the process of a step to its end, or to its limit, and leaves nothing of it behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from acceptance.limits import GRACE
from acceptance.step import Ended

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MARK", "remains", "run", "sweep"]

MARK = "MBENCH_ACCEPTANCE"
"""The variable that marks the processes of this program; each run of it has its own value."""
REST_SECONDS = 5.0
"""How long processes that a step has started may take to exit after the step."""


def run(
    command: Sequence[str], *, variables: Mapping[str, str], folder: Path, report: Path, log: Path,
    seconds: float, grace: float = GRACE,
) -> Ended:  # fmt: skip
    """Run `command` in `folder`; its stdout goes to `report`, its stderr to `log`.

    At the limit or on Ctrl-C, the command is interrupted as by Ctrl-C, so that it can write what it
    has. A second Ctrl-C, or the end of its grace period, kills its process group.
    """
    begin = time.monotonic()
    stopped = interrupted = False
    with report.open("wb") as out, log.open("wb") as err:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder,
            env={**os.environ, **variables}, start_new_session=True,
        )  # fmt: skip
        try:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                stopped = True
                end(process, grace)
        except KeyboardInterrupt:
            interrupted = True
            end(process, grace)
        finally:
            signal_group(process, signal.SIGKILL)  # also what it left in its group
            process.wait()
    return Ended(
        returncode=process.returncode, seconds=time.monotonic() - begin, stopped=stopped,
        interrupted=interrupted, said=last_line(log),
    )  # fmt: skip


def end(process: subprocess.Popen[bytes], grace: float) -> None:
    signal_group(process, signal.SIGINT)
    with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        process.wait(grace)


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def remains(mark: str) -> dict[int, str]:
    """Processes that carry the mark, except this one: the command line of each, by pid."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            variables = (folder / "environ").read_bytes().split(b"\0")
            if f"{MARK}={mark}".encode() in variables:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = line.decode(errors="replace").strip()
    return found


def sweep(mark: str, *, seconds: float = REST_SECONDS) -> dict[int, str]:
    """Kill marked processes that are still there after `seconds`; returns them."""
    until = time.monotonic() + seconds
    while (left := remains(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left
