"""Lists what is installed for an interpreter without importing it; also a script for Python 3.7+.

Usage: python probe.py MODULE...
"""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["missing", "packages"]


def missing(imports: Iterable[str]) -> list[str]:
    """Those of `imports` whose top-level package is not installed."""
    return [name for name in imports if not _is_installed(name.partition(".")[0])]


def _is_installed(package: str) -> bool:
    spec = importlib.util.find_spec(package)
    # Without an origin it is only a folder of that name, such as a checkout.
    return spec is not None and spec.origin is not None


def packages() -> dict[str, str]:
    """Versions of the installed distributions by normalized name."""
    found: dict[str, str] = {}
    for name, version in installed():
        if name:  # remains of an interrupted uninstall have none
            # The first one on sys.path is the one that is imported.
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), version)
    return dict(sorted(found.items()))


def installed() -> Iterator[tuple[str, str]]:
    """Names and versions of all distributions, in the order of sys.path."""
    try:
        from importlib import metadata
    except ImportError:  # before Python 3.8
        import pkg_resources

        for one in pkg_resources.working_set:
            yield one.project_name, one.version
        return
    for distribution in metadata.distributions():
        yield distribution.metadata["Name"], distribution.version


if __name__ == "__main__":
    sys.path.pop(0)  # this script's folder holds our modules, which are not top-level
    answer = {
        "python": platform.python_version(),
        "missing": missing(sys.argv[1:]),
        "packages": packages(),
    }
    print(json.dumps(answer))
