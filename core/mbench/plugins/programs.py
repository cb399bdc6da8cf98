"""Programs that frameworks call and pip cannot install, as adapters name them in `needs`."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbench.contract.adapter import Adapter, Need

__all__ = ["found_for", "missing"]


def found_for(adapter: Adapter) -> Iterator[tuple[Need, str]]:
    """Each need of the adapter with the path of its program; the path is empty if none is found."""
    for need in getattr(adapter, "needs", ()):
        yield need, next(filter(None, map(shutil.which, need.programs)), "")


def missing(adapter: Adapter) -> str:
    """The first need without a program on this machine, and its remedy; empty if there is none."""
    for need, path in found_for(adapter):
        if not path:
            programs = " or ".join(need.programs)
            return f"{adapter.title} needs {programs}, which is not on PATH: {need.remedy}"
    return ""
