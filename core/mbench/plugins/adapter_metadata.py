"""What an adapter's package tells beside its code: other names, and how much is downloaded.

It lies in a file beside the adapter's module, since it changes nothing of what is measured: the
code of an adapter is part of what a proof holds for, and a proof takes minutes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.files import read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FILE", "Leaflet", "leaflet", "size"]

FILE = "framework.toml"


@dataclass(frozen=True)
class Leaflet:
    """What is told of one framework."""

    aliases: tuple[str, ...] = ()
    """Other names that people know it by."""
    download_megabytes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Of an environment with the adapter's own pins from the public index, by accelerator; before
    that the least, where other indexes have smaller builds.
    """


def leaflet(adapter: object) -> Leaflet:
    """The one that lies beside the adapter's module; raises ValueError for one that is none."""
    module = sys.modules.get(adapter.__module__)
    beside = Path(getattr(module, "__file__", None) or "").with_name(FILE)
    if module is None or not beside.is_file():
        return Leaflet()
    try:
        found = read_toml(beside).content
    except UsageError as error:
        raise ValueError(str(error)) from None
    aliases, sizes = found.pop("aliases", []), found.pop("download-megabytes", {})
    if found:
        raise ValueError(
            f"it holds {', '.join(found)}, where aliases and download-megabytes may be"
        )
    if not isinstance(aliases, list) or not all(isinstance(name, str) for name in aliases):
        raise ValueError("aliases should be a list of names")
    if not isinstance(sizes, dict):
        raise ValueError("download-megabytes should be a table of numbers")
    ranges = {name: tuple(s) if isinstance(s, list) else (s,) for name, s in sizes.items()}
    for ends in ranges.values():
        if len(ends) not in (1, 2) or not all(isinstance(end, (int, float)) for end in ends):
            raise ValueError("download-megabytes should be a table of numbers, or of pairs of them")
    return Leaflet(tuple(aliases), ranges)


def size(adapter: object, accelerator: str) -> str:
    """How much building an environment downloads, in words; empty where nobody has told."""
    try:
        ends = leaflet(adapter).download_megabytes.get(accelerator)
    except ValueError:  # which `mbench list` complains of
        return ""
    if ends is None:
        return ""
    *least, most = (f"{end / 1e3:.1f} GB" if end >= 950 else f"{end:.0f} MB" for end in ends)
    return f"downloads {least[0]} to {most}, by pip's index" if least else f"downloads up to {most}"
