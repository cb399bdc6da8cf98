"""Looks at an environment through one of its processes, which has a worker's variables but does not
import the framework.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from mbench.environments import interpreters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mbench.environments.environment import Environment
    from mbench.environments.interpreters import Contents

__all__ = ["identity"]

REACHING = ("COVERAGE_", "GLIBC_TUNABLES", "LD_", "MALLOC_", "PYTHON")
"""Prefixes of inherited variables that change what a look finds."""
FLAGS = ("debug", "dev_mode", "gil", "ignore_environment", "isolated", "no_site", "optimize")
"""Flags of an interpreter that may change what a program computes."""


class Look(NamedTuple):
    """What was found, and the folders on the interpreter's path with modification times in ns."""

    identity: object
    folders: dict[str, int]


_looks: dict[tuple[object, ...], Look] = {}


def identity(environment: Environment, variables: Mapping[str, str]) -> object:
    """What determines the computations of a worker with `variables`: all installed files, the
    interpreter's flags and debugging aids, the allocator, and libraries from elsewhere.

    A process is started once for each environment and its variables, and again if distributions
    were installed or removed since. If the Python does not run, the result is the reason.
    """
    around = {name: value for name, value in os.environ.items() if name.startswith(REACHING)}
    who = (str(environment.python), *sorted(variables.items()), "", *sorted(around.items()))
    known = _looks.get(who)
    if known is None or known.folders != changed_at(known.folders):
        try:
            known = look(interpreters.ask(environment.python, [], variables=variables))
        except interpreters.DoesNotRun as error:
            return str(error)
        _looks[who] = known
    return known.identity


def look(found: Contents) -> Look:
    state = found.state
    whole: dict[str, object] = {
        "interpreter": state.interpreter,
        "files": found.files,
        "flags": {name: state.flags[name] for name in FLAGS if name in state.flags},
        "slowing": dict(state.slowing),
        "allocator": state.allocator,
        "preloaded": dict(state.preloaded),
        "libraries": dict(state.libraries),
    }
    return Look(whole, changed_at(found.path))


def changed_at(folders: Iterable[str]) -> dict[str, int]:
    found = {}
    for folder in folders:
        try:
            found[folder] = os.stat(folder).st_mtime_ns
        except OSError:
            found[folder] = 0
    return found
