"""What is known about a framework, for `mbench list FRAMEWORK`: its adapter's own description."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbench.errors import MbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mbench.contract.adapter import Adapter
    from mbench.plugins.manager import Plugins

__all__ = ["facts"]

KINDS = {"device": "devices", "precision": "precisions", "compiler": "compilers", "mode": "modes",
         "family": "families"}  # fmt: skip
"""What a row of `lacks` may restrict: the word for it, and its field."""


def facts(found: Plugins, name: str) -> Iterator[tuple[str, str]]:
    """Rows of a label and what is known about it; no framework is imported.

    Raises MbenchError for a framework that several plugins claim.
    """
    from mbench.environments.locate import describe_location
    from mbench.machine.devices import usual
    from mbench.plugins.description import mistakes
    from mbench.plugins.programs import found_for

    adapter, device = found.adapters.get(name), usual()
    yield "title", adapter.title
    yield "plugin", getattr(adapter, "distribution", "")
    if also := [alias for alias, own in found.aliases.items() if own == name]:
        yield "also typed", ", ".join(also)
    try:
        yield "runs in", describe_location(adapter, accelerator=device)
        yield "installs", ", ".join(adapter.requirements(None, device))
        yield "Python", adapter.python(None)
    except MbenchError as error:
        yield "runs in", f"nowhere: {error}"
    for need, path in found_for(adapter):
        yield "needs", f"{' or '.join(need.programs)}: {path or f'not on PATH; {need.remedy}'}"
    yield "devices", ", ".join(adapter.devices)
    for compiler, line in adapter.compilers.items():
        yield "compiler", f"{compiler}: {line}"
    for tier, made in adapter.tiers.items():
        yield "tier", f"{tier}: {made.says}, as in {made.source}" if made.says else tier
    if adapter.parallel:
        yield "several devices", adapter.parallel
    yield "families", ", ".join(families(found, adapter))
    for lack in getattr(adapter, "lacks", ()):
        yield "lacks", said(lack.reason, vars(lack))
    for mistake in mistakes(adapter):
        yield "mistake", mistake


def families(found: Plugins, adapter: Adapter) -> list[str]:
    """Families of all models known here that the adapter has a file for."""
    from mbench.sdk.plugin import is_there
    from mbench.spec.selection import family

    known = dict.fromkeys(family(*item) for item in found.workloads.unique().items())
    package = adapter.models
    return [one for one in known if one and package and is_there(f"{package}.{one}")]


def said(reason: str, row: Mapping[str, object]) -> str:
    """A row of `lacks` as text: the reason, and what it applies to."""
    words = [f"{kind} {' or '.join(named)}" for kind, at in KINDS.items()
             if isinstance(named := row.get(at), (tuple, list)) and named]  # fmt: skip
    return f"{reason} ({', '.join(words)})" if words else reason
