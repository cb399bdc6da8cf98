"""What an adapter's package states outside its code: other names, and how much is downloaded.

It is stored in a file next to the adapter's module because it does not affect what is measured. A
proof depends on the adapter's code and takes minutes, so changes here must not invalidate it.
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
    """What is stated about one framework."""

    aliases: tuple[str, ...] = ()
    """Other names that people use for it."""
    download_megabytes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Download size of an environment with the adapter's own pins from the public index, by
    accelerator; preceded by the smallest size if other indexes have smaller builds.
    """


def leaflet(adapter: object) -> Leaflet:
    """Reads the file next to the adapter's module; raises ValueError if it is not valid."""
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
            f"it contains {', '.join(found)}; only aliases and download-megabytes are allowed"
        )
    if not isinstance(aliases, list) or not all(isinstance(name, str) for name in aliases):
        raise ValueError("aliases should be a list of names")
    if not isinstance(sizes, dict):
        raise ValueError("download-megabytes should be a table of numbers")
    ranges = {name: tuple(s) if isinstance(s, list) else (s,) for name, s in sizes.items()}
    for ends in ranges.values():
        if len(ends) not in (1, 2) or not all(isinstance(end, (int, float)) for end in ends):
            raise ValueError("download-megabytes should be a table of numbers or pairs of numbers")
    return Leaflet(tuple(aliases), ranges)


def size(adapter: object, accelerator: str) -> str:
    """How much building an environment downloads, in words; empty if that is not stated."""
    try:
        ends = leaflet(adapter).download_megabytes.get(accelerator)
    except ValueError:  # `mbench list` reports it
        return ""
    if ends is None:
        return ""
    *least, most = (f"{end / 1e3:.1f} GB" if end >= 950 else f"{end:.0f} MB" for end in ends)
    if not least:
        return f"downloads up to {most}"
    return f"downloads {least[0]} to {most}, depending on pip's index"
