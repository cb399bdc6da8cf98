"""Builds managed environments: under a lock, in a temporary folder that is renamed at the end."""

from __future__ import annotations

import errno
import os
import re
import time
from collections import deque
from datetime import datetime, timezone
from itertools import zip_longest
from pathlib import Path
from subprocess import STDOUT
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import unquote

import mbench
from mbench.environments import interpreters, managed
from mbench.environments.environment import MANAGED_VARIABLES
from mbench.environments.managed import locked
from mbench.environments.refusals import NOT_THERE, UNREACHED, cause_of, refusal
from mbench.errors import EnvironmentUnavailable
from mbench.files import opened
from mbench.machine.helper import NoAnswer, ask, lines_of, started
from mbench.machine.process_end import ending
from mbench.plugins.adapter_metadata import size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

    from mbench.contract.adapter import Adapter
    from mbench.environments.interpreters import Interpreter

__all__ = ["PipFailed", "create", "install"]


VIRTUALENV_SERVES = [3, 9]
"""The oldest Python for which virtualenv 21 includes pip."""


VENV_SECONDS = 120.0
MOST_LINES = 10_000
"""How many of the last lines of pip's output are searched for the reason for a failure."""
MOST_BYTES = 2**26
"""Largest log. Building a package from source may print endlessly."""
CUT = "\n[mbench: the log was too long; the rest was not kept]\n"


class _BuildFailed(Exception):
    """An environment could not be built; the message says why in one line."""


def create(
    name: str,
    *,
    adapter: Adapter,
    requirements: Sequence[str],
    accelerator: str,
    interpreter: Interpreter,
    report: Callable[[str], None],
) -> None:
    """Build the managed environment `name`, unless another process has done so meanwhile."""
    log = managed.root() / f"{name}.log"
    try:
        managed.root().mkdir(parents=True, exist_ok=True)
        with locked(
            managed.lock_file(name),
            busy=lambda: report(f"waiting for another mbench to build {name}"),
        ):
            if managed.entry(name).record is not None:
                return
            much, took = size(adapter, accelerator), managed.took(adapter.name, accelerator)
            began = time.monotonic()
            log.unlink(missing_ok=True)  # it may be a link
            said = f"Building {name} for {adapter.title}, on Python {interpreter.version}"
            report("; ".join(filter(None, (said, much, took))))
            for leftover in managed.entries():
                if leftover.name.startswith(name):
                    managed.discard(leftover.folder)
            with (
                # Files that a killed process still holds cannot be deleted now, but next time.
                TemporaryDirectory(
                    prefix=f"{name}.tmp-", dir=managed.root(), ignore_cleanup_errors=True
                ) as temporary,
                log.open("w", encoding="utf-8", buffering=1) as output,
            ):
                folder = Path(temporary) / "environment"
                _make(folder, interpreter=interpreter)
                _fill(folder, adapter=adapter, requirements=requirements, log=output, report=report)
                os.rename(folder, managed.root() / name)
            managed.keep_time(adapter.name, accelerator, time.monotonic() - began)
    except (OSError, PipFailed, interpreters.DoesNotRun, _BuildFailed) as error:
        found_nothing = isinstance(error, PipFailed) and error.found_nothing
        hint = adapter.index_hint(accelerator) if found_nothing else ""
        if isinstance(error, OSError) and not log.is_file():  # it had not begun
            raise EnvironmentUnavailable(
                f"{name} could not be built: cannot write {managed.root()}: {error.strerror}. "
                f"{managed.ELSEWHERE}",
                outcome="failed",
            ) from error
        said = cause_of(str(error)) if isinstance(error, OSError) else str(error)
        if os.strerror(errno.ENOSPC) in said or os.strerror(errno.EDQUOT) in said:
            hint = managed.ELSEWHERE
        raise EnvironmentUnavailable(
            f"{name} could not be built: {said}{hint and f'; {hint}'}. Fix that and try again, "
            f"or give a Python that has {adapter.title} as {adapter.name}@/path/to/python. All "
            f"output: {log}",
            outcome="failed",
        ) from error


def _make(folder: Path, *, interpreter: Interpreter) -> None:
    """Create a virtual environment with nothing but pip, from virtualenv's own copy.

    A Python that virtualenv no longer supports creates it with its own venv, which also installs
    the setuptools of its time.
    """
    import virtualenv

    if interpreter.age < VIRTUALENV_SERVES:
        _run([str(interpreter.path), "-I", "-m", "venv", str(folder)])
        return
    arguments = [
        f"--python={interpreter.path}",
        "--no-download",
        "--no-periodic-update",  # it would query an index in the background
        "--no-setuptools",
        "--activators=",
        str(folder),
    ]
    own = {"VIRTUALENV_SYSTEM_SITE_PACKAGES": "0"}  # the user's default may differ
    try:
        virtualenv.cli_run(arguments, setup_logging=False, env={**os.environ, **own})
    except RuntimeError as error:
        raise _BuildFailed(
            f"{interpreter.path} cannot create a virtual environment: {cause_of(str(error))}"
        ) from error


def _run(command: Sequence[str]) -> None:
    failed = f"{command[0]} cannot create a virtual environment"
    try:
        answer = ask(command, seconds=VENV_SECONDS)
    except NoAnswer as error:
        raise _BuildFailed(f"{failed}: {error}") from error
    if answer.code:
        said = (answer.errors or answer.output).strip().splitlines()
        raise _BuildFailed(f"{failed}: {said[-1] if said else answer.failure}")


def _fill(
    folder: Path,
    *,
    adapter: Adapter,
    requirements: Sequence[str],
    log: IO[str],
    report: Callable[[str], None],
) -> None:
    """Install the requirements, check the adapter's imports, and write the record."""
    python = managed.python_in(folder)
    install(python, requirements, variables=MANAGED_VARIABLES, log=log, report=report)
    contents = interpreters.ask(python, adapter.imports, variables=MANAGED_VARIABLES)
    if contents.missing:
        raise _BuildFailed(f"its requirements do not provide {', '.join(contents.missing)}")
    whole = managed.Record(
        adapter=adapter.name,
        requirements=list(requirements),
        python=contents.python,
        packages=contents.packages,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        mbench=mbench.__version__,
    )
    managed.write_record(whole, folder=folder)


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

# Markers of the problem, and of its subject on the next line, in pip's newer errors.
_PROBLEM = "\N{MULTIPLICATION SIGN} "
_SUBJECT = "\u2570\u2500> "

_NOTHING = "No matching distribution"
_BROKEN = re.compile(r"""after connection broken by '\w+\(["']?(.*?)["']?\)'""")
_WHERE = re.compile(r">: |port=\d+\): ")


MOST_DETAILS = 2**22
_TAMPERED = "THESE PACKAGES DO NOT MATCH THE HASHES"


class PipFailed(Exception):
    """pip could not install; the message is the most informative line of its output."""

    @property
    def found_nothing(self) -> bool:
        """Whether the index was reached but has no such distribution."""
        said = str(self)
        return UNREACHED not in said and (said.startswith(_NOTHING) or NOT_THERE in said)


def install(
    python: Path,
    requirements: Sequence[str],
    *,
    variables: Mapping[str, str],
    log: IO[str],
    report: Callable[[str], None],
) -> None:
    """Install `requirements` for `python`; pip's output goes to `log`."""
    # -I: neither the current folder nor PYTHONPATH counts as installed.
    details = Path(f"{log.name}.details")  # pip's detailed log has the indexes' answers
    command = [str(python), "-I", "-m", "pip", "install", *_OPTIONS, f"--log={details}", "--"]
    command += requirements
    lines: deque[str] = deque(maxlen=MOST_LINES)
    try:
        if code := _follow(command, lines, variables=variables, log=log, report=report):
            said = most_informative(list(lines))
            if said.startswith(_NOTHING):
                said = refusal(_end_of(details)) or said
            raise PipFailed(said or f"pip {ending(code)}")
    finally:
        details.unlink(missing_ok=True)


def _end_of(details: Path) -> str:
    """The end of a log that may be long, where the cause of a failure is."""
    try:
        with opened(details) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MOST_DETAILS))
            return file.read(MOST_DETAILS).decode(errors="replace")
    except OSError:
        return ""


def _follow(
    command: Sequence[str],
    lines: deque[str],
    *,
    variables: Mapping[str, str],
    log: IO[str],
    report: Callable[[str], None],
) -> int:
    """Run pip, add its output to `lines` and `log`, and return its exit code."""
    written = 0
    try:
        with started(command, variables=variables, errors=STDOUT) as process:
            for line in lines_of(process):
                if written <= MOST_BYTES < (written := written + len(line)):
                    log.write(CUT)
                if written <= MOST_BYTES:
                    log.write(line)
                lines.append(line.strip())
                if news := progress(lines[-1]):
                    report(news)
            return process.wait()
    except NoAnswer as error:
        raise PipFailed(str(error)) from error


def progress(line: str) -> str | None:
    """The progress that a line of pip's output reports; None for most lines."""
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
    """ "name-1.0" of a wheel or source distribution, whatever its URL."""
    file = unquote(url).rpartition("/")[2]
    if file.endswith(".whl"):
        return "-".join(file.split("-")[:2])
    return file.removesuffix(".zip").removesuffix(".tar.gz")


def most_informative(lines: Sequence[str]) -> str:
    """The last error that pip reports, without its markers; otherwise the last line.

    If the index was not reached, pip's error says only that it found nothing: the cause is added.
    """
    stated = ""
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        # The last line of a conflict only points to a web page; the one before says more.
        if line.startswith(f"ERROR: {_TAMPERED}"):
            which = following.partition(" ")[0] or "a package"
            return (
                f"what the index returned for {which} does not match its hash: the download is "
                "damaged or was tampered with"
            )
        if line.startswith("ERROR: ") and "ResolutionImpossible" not in line:
            stated = line.removeprefix("ERROR: ")
        elif line.startswith(_PROBLEM):
            stated = line.removeprefix(_PROBLEM).rstrip(".")
            if following.startswith(_SUBJECT):
                stated += f": {following.removeprefix(_SUBJECT)}"
    broken = [match[1] for line in lines if (match := _BROKEN.search(line))]
    if broken and stated.startswith(_NOTHING):
        stated += f": {UNREACHED}: {_WHERE.split(broken[-1])[-1]}"
    return (stated or next((line for line in reversed(lines) if line), "")).rstrip(".")
