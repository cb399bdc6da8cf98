"""Chooses the Python of managed environments: the same for all frameworks if possible."""

from __future__ import annotations

import contextlib
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench.contract import installed
from mbench.environments import managed
from mbench.errors import PluginFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mbench.contract.adapter import Adapter
    from mbench.environments.interpreters import Interpreter
    from mbench.spec.arm import FrameworkSpec

    Wanted = tuple[FrameworkSpec, Adapter]

__all__ = ["Choice", "choose", "is_here", "of_one"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Where one framework runs, or would run."""

    minor: str
    """The minor version of its Python, "3.11"."""
    name: str | None = None
    """The name of the managed environment; None for this Python."""
    requirements: Sequence[str] = ()
    accelerator: str = "cpu"
    """The accelerator that the requirements are for."""
    interpreter: Interpreter | None = None
    """The interpreter from which the environment is built; None if it exists."""


def choose(
    frameworks: Iterable[Wanted], *, accelerator: str, here: bool = True
) -> dict[str, Choice]:
    """Where each framework runs, by the text of its spec. Frameworks with a given Python, with no
    suitable one, or with a failing plugin are left out.

    Without `here`, the running Python is not considered. Existing environments are preferred. Of
    several Pythons, the choice is the one that most frameworks can use, then the one that runs
    mbench, then the newest.
    """
    wanted = {spec.text: (spec, adapter) for spec, adapter in frameworks if spec.python is None}
    open_to = {}
    for text, one in wanted.items():
        with contextlib.suppress(PluginFailed):  # one adapter failed; the others go on
            open_to[text] = of_one(*one, accelerator=accelerator, here=here)
    if not all(running() in choices for choices in open_to.values()):
        for text, choices in open_to.items():
            if not any(choice.interpreter is None for choice in choices.values()):
                choices |= to_be_built(*wanted[text], accelerator=accelerator)
    shared = [minor for choices in open_to.values() for minor in choices]

    def rank(choice: Choice) -> tuple[int, bool, list[int]]:
        version = [int(part) for part in choice.minor.split(".")]
        return shared.count(choice.minor), choice.minor == running(), version

    return {text: max(choices.values(), key=rank) for text, choices in open_to.items() if choices}


def of_one(
    spec: FrameworkSpec, adapter: Adapter, *, accelerator: str, here: bool = True
) -> dict[str, Choice]:
    """Existing environments of a framework, by Python; if none, the one to build on this Python."""
    if here and is_here(adapter, version=spec.version):
        return {running(): Choice(minor=running())}
    requirements = adapter.requirements(spec.version, accelerator)
    built = {}
    for entry in managed.entries():
        if entry.record and entry.record.adapter == adapter.name:
            minor = minor_of(entry.record.python)
            if entry.name == managed.key(adapter.name, requirements=requirements, python=minor):
                built[minor] = Choice(minor=minor, name=entry.name, requirements=requirements)
    return built or to_be_built(spec, adapter, accelerator=accelerator, others=False)


def to_be_built(
    spec: FrameworkSpec, adapter: Adapter, *, accelerator: str, others: bool = True
) -> dict[str, Choice]:
    """The environments that could be built, by Python; finding `others` than this takes seconds."""
    from mbench.environments import interpreters

    requirements = adapter.requirements(spec.version, accelerator)
    found = interpreters.satisfying(adapter.python(spec.version), others=others)
    return {
        one.minor: Choice(
            minor=one.minor,
            name=managed.key(adapter.name, requirements=requirements, python=one.minor),
            requirements=requirements,
            accelerator=accelerator,
            interpreter=one,
        )
        for one in found
    }


def is_here(adapter: Adapter, *, version: str | None) -> bool:
    """Whether the running interpreter has the framework."""
    if installed.missing(adapter.imports):
        return False

    from packaging.specifiers import SpecifierSet

    def allows(specifier: str, found: str) -> bool:
        return SpecifierSet(specifier).contains(found, prereleases=True)

    if not allows(adapter.python(version), platform.python_version()):
        return False
    if version is None:
        return True
    # "==2.12.0" allows "2.12.0+cpu", but "==2.12.0+cpu" allows no other build.
    found = framework_version(adapter, installed.packages(installed.distributions()))
    return found is not None and allows(f"=={version}", found)


def framework_version(adapter: Adapter, packages: Mapping[str, str]) -> str | None:
    """The framework's version among `packages`; None if its distribution has an unknown name.

    A framework may have several distributions, such as for CPU and for CUDA: each is the adapter's
    first requirement for a device.
    """
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    names = [Requirement(adapter.requirements(None, device)[0]).name for device in adapter.devices]
    return next((packages[n] for n in map(canonicalize_name, names) if n in packages), None)


def running() -> str:
    """The minor version of the Python that runs mbench."""
    return minor_of(platform.python_version())


def minor_of(version: str) -> str:
    """ "3.11" of "3.11.7"."""
    return ".".join(version.split(".")[:2])
