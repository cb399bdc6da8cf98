"""Runs an environment's own pip with the user's configuration, and tells how far it is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING

from mbench.environments import orphanless

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import IO

__all__ = ["PipFailed", "install"]

_OPTIONS = (
    "--no-input",
    "--disable-pip-version-check",
    "--no-user",
    "--progress-bar=off",
)

_COLLECTING = re.compile(r"Collecting ([A-Za-z0-9._-]+)")
_FILE = re.compile(
    r"(?P<verb>Downloading|Using cached|Processing) (?:\S*/)?"
    r"(?P<name>[A-Za-z0-9._]+(?:-[A-Za-z_]\w*)*-\d[^-\s]*?)(?:-\S+)?\.(?:whl|tar\.gz|zip)"
    r"(?P<size> \([^)]+\))?"
)
_BUILDING = re.compile(r"Building wheel for (\S+) .*: started")
_INSTALLING = re.compile(r"Installing collected packages: (.+)")


class PipFailed(Exception):
    """pip could not install; carries the line of its output that tells most."""


def install(
    python: Path,
    requirements: Sequence[str],
    *,
    variables: Mapping[str, str],
    log: IO[str],
    report: Callable[[str], None],
) -> None:
    """Install `requirements` beside `python`; all of pip's output goes to `log`."""
    # -I: neither the current folder nor PYTHONPATH may pass for something installed.
    command = [str(python), "-I", orphanless.__file__, str(os.getpid())]
    command += ["pip", "install", *_OPTIONS, "--", *requirements]
    lines = []
    with subprocess.Popen(
        command,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                log.write(line)
                lines.append(line.strip())
                if news := progress(lines[-1]):
                    report(news)
            process.wait()
        finally:
            if process.poll() is None:  # interrupted: a group of its own hears no Ctrl-C
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode != 0:
        raise PipFailed(most_telling(lines) or f"pip ended with status {process.returncode}")


def progress(line: str) -> str | None:
    """What a line of pip's output means to somebody who waits; None for most lines."""
    if match := _COLLECTING.match(line):
        return f"Collecting {match[1]}"
    if match := _FILE.match(line):
        if ".whl.metadata" not in line:
            return f"{match['verb']} {match['name']}{match['size'] or ''}"
    elif match := _BUILDING.match(line):
        return f"Building {match[1]}"
    elif match := _INSTALLING.match(line):
        names = match[1].split(", ")
        return f"Installing {names[0] if len(names) == 1 else f'{len(names)} packages'}"
    return None


def most_telling(lines: Sequence[str]) -> str:
    """The last error that pip states, without its mark; else the last line of all."""
    stated = [line[len("ERROR: ") :] for line in lines if line.upper().startswith("ERROR: ")]
    # The line that conflicting requirements end with points to a web page, the one before to them.
    stated = [line for line in stated if not line.startswith("ResolutionImpossible")]
    return next(reversed(stated or [line for line in lines if line]), "")
