"""Builds managed environments: out of sight, under a lock, renamed into place when whole."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import mbench
from mbench.environments import interpreters, managed, pip, record
from mbench.environments.environment import MANAGED_VARIABLES
from mbench.environments.lock import locked
from mbench.errors import EnvironmentUnavailable
from mbench.plugins.adapter_metadata import size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import IO

    from mbench.contract.adapter import Adapter
    from mbench.environments.interpreters import Interpreter

__all__ = ["create"]


VIRTUALENV_SERVES = [3, 9]
"""The oldest Python for which virtualenv 21 brings pip."""


class _BuildFailed(Exception):
    """Says why in one line."""


def create(
    name: str,
    *,
    adapter: Adapter,
    requirements: Sequence[str],
    accelerator: str,
    interpreter: Interpreter,
    report: Callable[[str], None],
) -> None:
    """Build the managed environment `name`, unless another process does so meanwhile."""
    log = managed.root() / f"{name}.log"
    try:
        managed.root().mkdir(parents=True, exist_ok=True)
        with locked(
            managed.lock_file(name),
            busy=lambda: report(f"waiting for another mbench that builds {name}"),
        ):
            if managed.entry(name).record is not None:
                return
            much = size(adapter, accelerator)
            log.unlink(missing_ok=True)  # it may be somebody's link
            report(f"Building {name} for {adapter.title}, on Python {interpreter.version}"
                   + (f"; {much}" if much else ""))  # fmt: skip
            for leftover in managed.entries():
                if leftover.name.startswith(name):
                    managed.discard(leftover.folder)
            with (
                # What cannot be deleted now, since something killed still holds it, goes next time.
                TemporaryDirectory(
                    prefix=f"{name}.tmp-", dir=managed.root(), ignore_cleanup_errors=True
                ) as temporary,
                log.open("w", encoding="utf-8", buffering=1) as output,
            ):
                folder = Path(temporary) / "environment"
                _make(folder, interpreter=interpreter)
                _fill(folder, adapter=adapter, requirements=requirements, log=output, report=report)
                os.rename(folder, managed.root() / name)
    except (OSError, pip.PipFailed, interpreters.DoesNotRun, _BuildFailed) as error:
        found_nothing = isinstance(error, pip.PipFailed) and error.found_nothing
        hint = adapter.index_hint(accelerator) if found_nothing else ""
        raise EnvironmentUnavailable(
            f"{name} could not be built: {error}{hint and f'; {hint}'}. Mend that and try again, "
            f"or give a Python that has {adapter.title} as {adapter.name}@/path/to/python. All "
            f"output: {log}",
            outcome="failed",
        ) from error


def _make(folder: Path, *, interpreter: Interpreter) -> None:
    """Make a virtual environment with nothing but pip, taken from virtualenv's own copy.

    A Python that virtualenv has none for any more makes its own, with the setuptools of its time.
    """
    import virtualenv

    if interpreter.age < VIRTUALENV_SERVES:
        _run([str(interpreter.path), "-I", "-m", "venv", str(folder)])
        return
    arguments = [
        f"--python={interpreter.path}",
        "--no-download",
        "--no-periodic-update",  # it would ask an index in the background
        "--no-setuptools",
        "--activators=",
        str(folder),
    ]
    own = {"VIRTUALENV_SYSTEM_SITE_PACKAGES": "0"}  # may be a user's default, but never ours
    try:
        virtualenv.cli_run(arguments, setup_logging=False, env={**os.environ, **own})
    except RuntimeError as error:
        raise _BuildFailed(f"{interpreter.path} makes no virtual environment: {error}") from error


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        reason = said[-1] if said else f"exit code {done.returncode}"
        raise _BuildFailed(f"{command[0]} makes no virtual environment: {reason}")


def _fill(
    folder: Path,
    *,
    adapter: Adapter,
    requirements: Sequence[str],
    log: IO[str],
    report: Callable[[str], None],
) -> None:
    """Install the requirements, see that they bring what the adapter imports, and write it down."""
    python = managed.python_in(folder)
    pip.install(python, requirements, variables=MANAGED_VARIABLES, log=log, report=report)
    holdings = interpreters.ask(python, adapter.imports, variables=MANAGED_VARIABLES)
    if holdings.missing:
        raise _BuildFailed(f"its requirements bring no module {', '.join(holdings.missing)}")
    whole = record.Record(
        adapter=adapter.name,
        requirements=list(requirements),
        python=holdings.python,
        packages=dict(holdings.packages),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        mbench=mbench.__version__,
    )
    record.write(whole, folder=folder)
