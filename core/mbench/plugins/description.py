"""What in an adapter's description can only be a mistake: words that name nothing."""

from __future__ import annotations

import ast
import importlib.util
from difflib import get_close_matches
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from mbench.contract.precision import PRECISIONS
from mbench.sdk.plugin import is_there

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from mbench.contract.adapter import Adapter

__all__ = ["mistakes"]

MODES = ("train", "inference")


def mistakes(adapter: Adapter) -> Iterator[str]:
    """Each in words; nothing of the framework is imported."""
    if said := missing_runtime(adapter.runtime):
        yield said
    known = known_words(adapter)
    for lack in getattr(adapter, "lacks", ()):
        for kind, words in known.items():
            for word in getattr(lack, kind, ()):
                if word not in words:
                    yield f"lacks: {kind} has {word!r}, which is not known{nearest(word, words)}"


def known_words(adapter: Adapter) -> Mapping[str, Collection[str]]:
    """What each kind of words in a row of `lacks` may be."""
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
    return f"; did you mean {close[0]}?" if close else f"; {', '.join(sorted(known))} are"


def missing_runtime(reference: str) -> str:
    """Why there is no such "module:Class", by the module's text; empty where there is."""
    module, _, name = reference.partition(":")
    if not is_there(module):
        return f"runtime: there is no module {module}"
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    try:
        body = ast.parse(Path(spec.origin).read_bytes()).body
    except (OSError, SyntaxError) as error:
        return f"runtime: {module} cannot be read: {error}"
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
    return f"runtime: {module} has no class {name}{nearest(name, found)}"
