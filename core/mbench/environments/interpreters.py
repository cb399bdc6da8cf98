"""Finds Python interpreters on this machine, and asks them what is installed in them."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract.reading import read_fields
from mbench.contract.worker_state import WorkerState  # noqa: TC001 (read by annotations)
from mbench.environments import managed
from mbench.machine import helper
from mbench.plugins.launcher import BOOTSTRAP, package_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Contents", "DoesNotRun", "Interpreter", "ask", "satisfying"]

_PROBE_SECONDS = 60

# Where version managers keep interpreters: variable, usual root, folder of the versions.
_VERSION_MANAGERS = (
    ("PYENV_ROOT", "~/.pyenv", "versions"),
    ("ASDF_DATA_DIR", "~/.asdf", "installs/python"),
    ("MISE_DATA_DIR", "~/.local/share/mise", "installs/python"),
)


class DoesNotRun(Exception):
    """An interpreter did not start, or did not answer; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """An interpreter from which environments can be created."""

    path: Path
    version: str

    @property
    def minor(self) -> str:
        """ "3.11" of "3.11.7"."""
        return ".".join(self.version.split(".")[:2])

    @property
    def age(self) -> list[int]:
        """[3, 11, 7], for ordering."""
        return [int(part) for part in self.version.split(".")]


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What is installed for an interpreter, and the state of a process of it.

    `missing` are requested modules that it does not have, `path` is where it looks for modules, and
    `files` is a digest of all installed files.
    """

    python: str
    missing: list[str]
    path: list[str]
    files: str
    state: WorkerState

    @property
    def packages(self) -> dict[str, str]:
        """Versions of the installed distributions by normalized name."""
        return self.state.packages


def ask(python: Path, imports: Sequence[str], *, variables: Mapping[str, str]) -> Contents:
    """Start `python` to look for `imports` without importing them; raises DoesNotRun."""
    command = [
        str(python),
        str(BOOTSTRAP),
        "probe",
        json.dumps(package_files(["mbench"])),
        *imports,
    ]
    try:
        answer = helper.ask(command, seconds=_PROBE_SECONDS, variables=variables)
    except helper.NoAnswer as error:
        raise DoesNotRun(str(error)) from error
    if answer.code != 0:
        said = next((one for one in reversed(answer.errors.split("\n")) if one.strip()), "")
        raise DoesNotRun(said or f"it exited with status {answer.code}")
    try:
        # Only the last line is ours: code that runs when the interpreter starts may also print.
        found = json.loads(answer.output.splitlines()[-1])
        contents: Contents = read_fields(Contents, found, where="answer")
    except (IndexError, ValueError, RecursionError) as error:
        raise DoesNotRun("it does not behave like a Python interpreter") from error
    return contents


def satisfying(specifier: str, *, others: bool = True) -> list[Interpreter]:
    """The newest interpreter of each minor version that `specifier` (">=3.10,<3.14") allows, but
    for its own minor version the running one. Without `others`, only the running one.
    """
    from packaging.specifiers import SpecifierSet

    running = Interpreter(path=Path(sys.executable), version=platform.python_version())
    known = [*(sorted(_others(), key=lambda one: one.age) if others else ()), running]
    allowed = SpecifierSet(specifier)
    found = {one.minor: one for one in known if allowed.contains(one.version, prereleases=True)}
    return list(found.values())


def _others() -> list[Interpreter]:
    """Released CPythons with the GIL, for which frameworks publish builds."""
    import python_discovery

    root = managed.root()
    writable = os.access(root, os.W_OK)  # false if a site shares its environments
    cache = python_discovery.DiskCache(root / ".interpreters") if writable else None
    found = python_discovery.iter_interpreters(
        "cpython", cache=cache, env={**os.environ, "PATH": os.pathsep.join(_folders())}
    )
    return [
        Interpreter(path=Path(info.executable), version=info.version_str)
        for info in found
        if info.version_info.releaselevel == "final" and not info.free_threaded
    ]


def _folders() -> list[str]:
    """The folders of PATH, with all versions of version managers in place of their shims."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders = [folder for folder in path if os.path.basename(folder) != "shims"]
    for variable, home, installs in _VERSION_MANAGERS:
        root = Path(os.environ.get(variable) or home).expanduser()
        folders.extend(str(folder) for folder in sorted((root / installs).glob("3.*/bin")))
    return folders
