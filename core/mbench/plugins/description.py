"""Finds certain mistakes in an adapter's description: words that do not name anything."""

from __future__ import annotations

import ast
import importlib.util
from difflib import get_close_matches
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from mbench.contract.precision import PRECISIONS
from mbench.contract.tier import DEFAULT, TUNED
from mbench.sdk.plugin import is_there

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from mbench.contract.adapter import Adapter

__all__ = ["mistakes"]

MODES = ("train", "inference")
FEEDS = ("files",)
TIERS = (DEFAULT, TUNED)
MEMBERS = {"caches": "families", "checkpoints": "families", "switches": "compilers"}
"""Members of a description, with the kind of words that they hold."""


def mistakes(adapter: Adapter) -> Iterator[str]:
    """Describes each mistake; nothing of the framework is imported."""
    for what, reference in {"runtime": adapter.runtime, "quantized": quantized(adapter)}.items():
        if reference and (said := missing(what, reference)):
            yield said
    known = known_words(adapter)
    for lack in getattr(adapter, "lacks", ()):
        for kind, words in known.items():
            yield from unknown(f"lacks: {kind}", getattr(lack, kind, ()), words)
    for member, kind in MEMBERS.items():
        if kind == "families" and not getattr(adapter, "models", ""):
            continue  # it has its own workloads, whose families can have any name
        yield from unknown(member, getattr(adapter, member, ()), known[kind])
    yield from unknown("feeds", getattr(adapter, "feeds", ()), FEEDS)
    yield from unknown("tiers", adapter.tiers, TIERS)
    for name, tier in adapter.tiers.items():
        words = (*tier.executes, *(one for device in adapter.devices for one in tier.order(device)))
        yield from unknown(f"tier {name}", dict.fromkeys(words), adapter.compilers)


def quantized(adapter: Adapter) -> str:
    return getattr(adapter, "quantized", "")


def unknown(what: str, words: Iterable[str], known: Collection[str]) -> Iterator[str]:
    """The words of a member that are not known; a string counts as a single word."""
    for word in (words,) if isinstance(words, str) else words:
        if word not in known:
            yield f"{what} has {word!r}, which is not known{nearest(word, known)}"


def known_words(adapter: Adapter) -> Mapping[str, Collection[str]]:
    """The allowed words of each kind in a row of `lacks`."""
    return {
        "devices": {*adapter.devices, "cpu", "cuda"},
        "precisions": PRECISIONS,
        "compilers": adapter.compilers,
        "modes": MODES,
        "families": known_families(adapter),
    }


def known_families(adapter: Adapter) -> set[str]:
    from mbench import workloads
    from mbench.workloads.operators import COLLECTIVES, KINDS

    found = {*KINDS, *COLLECTIVES, *(module.name for module in iter_modules(workloads.__path__))}
    package = getattr(adapter, "models", "")
    if package and is_there(package):
        spec = importlib.util.find_spec(package)
        folders = spec.submodule_search_locations if spec else None
        found.update(module.name for module in iter_modules(folders or ()))
    return found


def nearest(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, list(known), 1, 0.5)
    return f"; did you mean {close[0]}?" if close else f"; available: {', '.join(sorted(known))}"


def missing(what: str, reference: str) -> str:
    """Why there is no such "module:Class", judged by the module's source; empty if there is."""
    module, _, name = reference.partition(":")
    if not is_there(module):
        return f"{what}: there is no module {module}"
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    try:
        body = ast.parse(Path(spec.origin).read_bytes()).body
    except (OSError, SyntaxError) as error:
        return f"{what}: {module} cannot be read: {error}"
    found = {node.name for node in body if isinstance(node, ast.ClassDef)}
    imported = {
        alias.asname or alias.name
        for node in body if isinstance(node, ast.ImportFrom) for alias in node.names
    }  # fmt: skip
    assigned = {
        target.id
        for node in body if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    if name in found | imported | assigned:
        return ""
    return f"{what}: {module} has no class {name}{nearest(name, found)}"
