"""Finds the interpreter for a framework: the given one, the running one, or a managed one.

Modules for querying interpreters and building environments are imported where they are needed.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract import installed
from mbench.environments import contents, managed
from mbench.environments.choice import choose, is_here, of_one
from mbench.environments.environment import Environment
from mbench.errors import EnvironmentUnavailable, UsageError
from mbench.plugins.adapter_metadata import size
from mbench.plugins.programs import missing
from mbench.spec.arm import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mbench.contract.adapter import Adapter
    from mbench.environments.choice import Choice, Wanted
    from mbench.environments.managed import Record
    from mbench.spec.arm import FrameworkSpec

NO_PROVISION = "--no-provision was given"

__all__ = ["NO_PROVISION", "Environment", "available", "describe_location", "describe_locations",
           "find", "provide"]  # fmt: skip


def find(
    spec: FrameworkSpec,
    adapter: Adapter,
    *,
    accelerator: str,
    provision: bool,
    report: Callable[[str], None],
    beside: Iterable[Wanted] = (),
    why_not: str = NO_PROVISION,
) -> Environment:
    """The environment in which workers of `spec` start; no framework is imported to find it.

    `beside` are the frameworks of the same command, which run on the same Python if possible. A
    managed environment is built on first use, with progress sent to `report`; without `provision`
    it is refused for the reason `why_not`. Raises EnvironmentUnavailable, or UsageError if a given
    Python does not run.
    """
    _require_programs(adapter)
    if spec.python is not None:
        return _given(spec, spec.python, adapter)
    chosen = choose([(spec, adapter), *beside], accelerator=accelerator).get(spec.text)
    if chosen is None:
        of_one(spec, adapter, accelerator=accelerator)  # raises if its plugin is the reason
    elif chosen.name is None:
        return _this_python(spec.text)
    if chosen is not None and chosen.interpreter is not None and not provision:
        raise EnvironmentUnavailable(
            f"{spec.text} is not installed and has no environment, and none is built because "
            f"{why_not}: run mbench env create {spec.text} to build it",
            outcome="failed",
        )
    return provide(spec, adapter, chosen, report=report)


def _require_programs(adapter: Adapter) -> None:
    """Raises EnvironmentUnavailable if a program that the framework needs is missing."""
    if said := missing(adapter):
        raise EnvironmentUnavailable(said, outcome="unsupported")


def _given(spec: FrameworkSpec, python: Path, adapter: Adapter) -> Environment:
    from mbench.environments import interpreters

    try:
        asked = interpreters.ask(python, adapter.imports, variables={})
    except interpreters.DoesNotRun as error:
        raise UsageError(f"{spec.text}: {python} does not run as Python: {error}") from error
    if asked.missing:
        raise EnvironmentUnavailable(
            f"{spec.text}: {python} has no module {', '.join(asked.missing)}. Install it there, "
            f"or give only {spec.name} to use a managed environment",
            outcome="failed",
        )
    return Environment(
        label=spec.text, python=python, python_version=asked.python, managed=False, digest=None,
        packages=asked.packages, digests=asked.state.digests,
    )  # fmt: skip


def available(adapter: Adapter) -> list[Environment]:
    """Where a framework can run without building anything: this Python, or managed environments."""
    found = []
    if is_here(adapter, version=None):
        found.append(_this_python(adapter.name))
    for entry in managed.entries():
        if entry.record and entry.record.adapter == adapter.name:
            found.append(_managed(adapter.name, entry.folder, entry.record))
    return found


def describe_location(adapter: Adapter, *, accelerator: str) -> str:
    """Where a framework without version or path would run, in words; starts no interpreter."""
    found = of_one(parse(adapter.name), adapter, accelerator=accelerator).values()
    if any(one.name is None for one in found):
        return "this Python"
    if built := [one.minor for one in found if one.interpreter is None]:
        return f"own environment, Python {' or '.join(built)}"
    parts = ("own environment", "built on first use", size(adapter, accelerator))
    return ", ".join(filter(None, parts))


def describe_locations(frameworks: Iterable[Wanted], *, accelerator: str) -> dict[str, str]:
    """Where each framework of a command would run, in words, by its text."""
    wanted = {spec.text: (spec, adapter) for spec, adapter in frameworks}
    chosen = choose(wanted.values(), accelerator=accelerator)
    return {
        text: describe(chosen.get(text), spec, adapter) for text, (spec, adapter) in wanted.items()
    }


def describe(chosen: Choice | None, spec: FrameworkSpec, adapter: Adapter) -> str:
    if spec.python is not None:
        return f"in {spec.python}"
    if chosen is None:
        return f"nowhere: no Python {adapter.python(spec.version)} on this machine"
    if chosen.name is None:
        return "in the Python that runs mbench"
    if chosen.interpreter is None:
        return f"in {chosen.name}"
    built = f"in {chosen.name}, to be built on {chosen.interpreter.path}"
    much = size(adapter, chosen.accelerator)
    return ", ".join(filter(None, (built, much, managed.took(adapter.name, chosen.accelerator))))


def provide(
    spec: FrameworkSpec,
    adapter: Adapter,
    chosen: Choice | None,
    *,
    report: Callable[[str], None],
) -> Environment:
    """The chosen managed environment, which is built unless it exists."""
    _require_programs(adapter)
    if chosen is None:
        raise EnvironmentUnavailable(
            f"{adapter.title} needs Python {adapter.python(spec.version)}, which was not found on "
            "this machine: install it and put it on PATH",
            outcome="unsupported",
        )
    assert chosen.name is not None, f"{spec.text} is of this Python"
    if chosen.interpreter is not None:
        from mbench.environments import build

        build.create(
            chosen.name,
            adapter=adapter,
            requirements=chosen.requirements,
            accelerator=chosen.accelerator,
            interpreter=chosen.interpreter,
            report=report,
        )
    entry, use = managed.use(chosen.name)
    if entry.record is None:
        raise EnvironmentUnavailable(
            f"{chosen.name} was removed in the meantime: try again", outcome="failed"
        )
    found = replace(_managed(spec.text, entry.folder, entry.record), use=use)
    if different := contents.difference(entry.folder, entry.record):
        raise EnvironmentUnavailable(
            f"{entry.name} was changed after it was built: {different}. Proofs and earlier runs "
            f"would not apply to it; {found.remedy}",
            outcome="failed",
        )
    return found


def _this_python(label: str) -> Environment:
    found = installed.distributions()
    return Environment(
        label=label,
        python=Path(sys.executable),
        python_version=platform.python_version(),
        managed=False,
        digest=None,
        packages=installed.packages(found),
        digests=installed.digests(found),
    )


def _managed(label: str, folder: Path, record: Record) -> Environment:
    return Environment(
        label=label,
        python=managed.python_in(folder),
        python_version=record.python,
        managed=True,
        digest=record.digest,
        packages=record.packages,
        digests=installed.digests(contents.installed_in(folder, record)),
    )
