"""Finds the interpreter for a framework: the one given, the running one, or a managed one.

What it takes to ask interpreters and to build environments is imported where that is done: to list
what is there takes neither.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract.axes import DEVICES
from mbench.environments import managed, probe
from mbench.environments.environment import Environment
from mbench.errors import EnvironmentUnavailable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mbench.contract.adapter import Adapter
    from mbench.environments.record import Record
    from mbench.environments.spec import FrameworkSpec

__all__ = ["Environment", "find", "framework_version", "home", "present", "provide"]


def find(
    spec: FrameworkSpec,
    adapter: Adapter,
    *,
    accelerator: str,
    provision: bool,
    report: Callable[[str], None],
) -> Environment:
    """The environment in which workers of `spec` start; no framework is imported to find it.

    A managed environment is built on first use, with news of it going to `report`, or refused
    without `provision`. Raises EnvironmentUnavailable, or UsageError for a Python that is none.
    """
    if spec.python is not None:
        return _given(spec, spec.python, adapter)
    if _is_here(adapter, version=spec.version):
        return _this_python(spec.text)
    return provide(spec, adapter, accelerator=accelerator, provision=provision, report=report)


def _given(spec: FrameworkSpec, python: Path, adapter: Adapter) -> Environment:
    from mbench.environments import interpreters

    try:
        holdings = interpreters.ask(python, adapter.imports, variables={})
    except interpreters.DoesNotRun as error:
        raise UsageError(f"{spec.text}: {python} is no Python that runs: {error}") from error
    if holdings.missing:
        raise EnvironmentUnavailable(
            f"{spec.text}: {python} has no module {', '.join(holdings.missing)}. Install it there, "
            f"or write {spec.name} alone for an environment of mbench's own",
            outcome="failed",
        )
    return Environment(
        label=spec.text, python=python, managed=False, digest=None, packages=holdings.packages
    )


def _is_here(adapter: Adapter, *, version: str | None) -> bool:
    """Whether the running interpreter can serve."""
    if probe.missing(adapter.imports):
        return False

    from packaging.specifiers import SpecifierSet

    def allows(specifier: str, found: str) -> bool:
        return SpecifierSet(specifier).contains(found, prereleases=True)

    if not allows(adapter.python(version), platform.python_version()):
        return False
    if version is None:
        return True
    # "==2.12.0" allows "2.12.0+cpu", but "==2.12.0+cpu" no other build.
    found = framework_version(adapter, probe.packages())
    return found is not None and allows(f"=={version}", found)


def framework_version(adapter: Adapter, packages: Mapping[str, str]) -> str | None:
    """The framework's version among `packages`; None where it is under a name unknown to us.

    A framework may have distributions of several names, for CPU and for CUDA: each is the first
    that the adapter requires.
    """
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    names = [Requirement(adapter.requirements(None, device)[0]).name for device in DEVICES]
    return next((packages[n] for n in map(canonicalize_name, names) if n in packages), None)


def present(adapter: Adapter) -> list[Environment]:
    """Where a framework could run at once, cheaply found: this Python and managed environments."""
    found = []
    if _is_here(adapter, version=None):
        found.append(_this_python(adapter.name))
    for entry in managed.entries():
        if entry.record and entry.record.adapter == adapter.name:
            found.append(_managed(adapter.name, entry.folder, entry.record))
    return found


def home(adapter: Adapter) -> str:
    """Where a framework without version or path would run, in a few words, cheaply."""
    if _is_here(adapter, version=None):
        return "this Python"
    if any(entry.record and entry.record.adapter == adapter.name for entry in managed.entries()):
        return "own environment"
    return "own environment, built on first use"


def provide(
    spec: FrameworkSpec,
    adapter: Adapter,
    *,
    accelerator: str,
    report: Callable[[str], None],
    provision: bool = True,
) -> Environment:
    """The managed environment of `spec`, whatever else could serve; built unless it is there."""
    from mbench.environments import build, interpreters

    versions = adapter.python(spec.version)
    interpreter = interpreters.satisfying(versions)
    if interpreter is None:
        raise EnvironmentUnavailable(
            f"{adapter.title} runs on Python {versions}, and none was found on this machine: "
            f"install one and put it on PATH",
            outcome="unsupported",
        )
    requirements = adapter.requirements(spec.version, accelerator)
    name = managed.key(adapter.name, requirements=requirements, python=interpreter.minor)
    entry = managed.entry(name)
    if entry.record is None:
        if not provision:
            raise EnvironmentUnavailable(
                f"{spec.text} is not installed here and has no environment yet: "
                f"run mbench env create {spec.text}, or drop --no-provision",
                outcome="failed",
            )
        build.create(
            name,
            adapter=adapter,
            requirements=requirements,
            interpreter=interpreter,
            report=report,
        )
        entry = managed.entry(name)
    assert entry.record is not None, f"{name} was just built"
    return _managed(spec.text, entry.folder, entry.record)


def _this_python(label: str) -> Environment:
    return Environment(
        label=label,
        python=Path(sys.executable),
        managed=False,
        digest=None,
        packages=probe.packages(),
    )


def _managed(label: str, folder: Path, record: Record) -> Environment:
    return Environment(
        label=label,
        python=managed.python_in(folder),
        managed=True,
        digest=record.digest,
        packages=record.packages,
    )
