"""Runs an environment's own pip with the user's configuration, and tells how far it is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from itertools import zip_longest
from typing import TYPE_CHECKING
from urllib.parse import unquote

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
_FILE = re.compile(r"(Downloading|Using cached|Processing) (\S+\.(?:whl|tar\.gz|zip))( \(\d.*\))?")
_BUILDING = re.compile(r"Building wheel for (\S+) .*: started")
_INSTALLING = re.compile(r"Installing collected packages: (.+)")

# What marks the problem, and on the next line its subject, in pip's newer kind of errors.
_PROBLEM = "\N{MULTIPLICATION SIGN} "
_SUBJECT = "\u2570\u2500> "

_NOTHING = "No matching distribution"
_UNREACHED = "the package index was not reached"
_BROKEN = re.compile(r"""after connection broken by '\w+\(["']?(.*?)["']?\)'""")
_WHERE = re.compile(r">: |port=\d+\): ")


class PipFailed(Exception):
    """pip could not install; carries the line of its output that tells most."""

    @property
    def found_nothing(self) -> bool:
        """Whether an index was reached that lacks something."""
        said = str(self)
        return said.startswith(_NOTHING) and _UNREACHED not in said


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
    if match := _FILE.fullmatch(line.partition(" (from ")[0]):
        return f"{match[1]} {_name_and_version(match[2])}{match[3] or ''}"
    if match := _BUILDING.match(line):
        return f"Building {match[1]}"
    if match := _INSTALLING.match(line):
        names = match[1].split(", ")
        return f"Installing {names[0] if len(names) == 1 else f'{len(names)} packages'}"
    return None


def _name_and_version(url: str) -> str:
    """ "name-1.0" of a wheel or source distribution, wherever it lies."""
    file = unquote(url).rpartition("/")[2]
    if file.endswith(".whl"):
        return "-".join(file.split("-")[:2])
    return file.removesuffix(".zip").removesuffix(".tar.gz")


def most_telling(lines: Sequence[str]) -> str:
    """The last error that pip states, without its marks; else the last line of all.

    Where the index was not reached, pip states no more than that it found nothing.
    """
    stated = ""
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        # What ends conflicting requirements only points to a web page; the error before says more.
        if line.startswith("ERROR: ") and "ResolutionImpossible" not in line:
            stated = line.removeprefix("ERROR: ")
        elif line.startswith(_PROBLEM):
            stated = line.removeprefix(_PROBLEM).rstrip(".")
            if following.startswith(_SUBJECT):
                stated += f": {following.removeprefix(_SUBJECT)}"
    broken = [match[1] for line in lines if (match := _BROKEN.search(line))]
    if broken and stated.startswith(_NOTHING):
        stated += f": {_UNREACHED}: {_WHERE.split(broken[-1])[-1]}"
    return (stated or next((line for line in reversed(lines) if line), "")).rstrip(".")
