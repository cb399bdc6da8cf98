"""Reads which distributions are installed, from their metadata files; none is imported.

Both sides use this: a worker for its own distributions, mbench for those of an environment.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Distribution", "digests", "distributions", "files_of", "missing", "packages"]

HEAD_BYTES = 2**16
"""How much of a distribution's metadata is read: name and version are near the beginning."""
LISTS = ("RECORD", "installed-files.txt", "SOURCES.txt")
"""The files that list what a distribution installed; different tools write different ones."""
DIGITS = 12


@dataclass(frozen=True)
class Distribution:
    """An installed distribution. `digest`, in hexadecimal digits, is that of its list of files,
    which holds the hash of each file; `folder` is where its metadata is.
    """

    version: str
    digest: str
    folder: str


def missing(imports: Iterable[str]) -> list[str]:
    """The modules of `imports` whose top-level package is not installed."""
    return [name for name in imports if not is_installed(name.partition(".")[0])]


def is_installed(package: str) -> bool:
    spec = importlib.util.find_spec(package)
    # Without an origin, it is only a folder with that name, such as a checkout.
    return spec is not None and spec.origin is not None


def packages(found: dict[str, Distribution]) -> dict[str, str]:
    """The versions of distributions by name."""
    return {name: one.version for name, one in found.items()}


def digests(found: dict[str, Distribution]) -> dict[str, str]:
    """The digests of distributions' lists of files, by name."""
    return {name: one.digest for name, one in found.items()}


def distributions(path: Iterable[str] | None = None) -> dict[str, Distribution]:
    """The distributions in the folders of `path`, or of `sys.path`, by normalized name."""
    found: dict[str, Distribution] = {}
    for folder in dict.fromkeys(sys.path if path is None else path):
        for described in described_in(folder or os.curdir):
            name, version = name_and_version(described)
            if name:  # remains of an interrupted uninstall have none
                # The first one on the path is the one that is imported.
                key = re.sub(r"[-_.]+", "-", name).lower()
                if key not in found:
                    found[key] = Distribution(version, digest_of(described), described)
    return dict(sorted(found.items()))


def described_in(folder: str) -> Iterator[str]:
    """The folders, or single files, that describe distributions in `folder`."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:  # it does not exist, or is a zip file
        return
    for name in names:
        if name.endswith((".dist-info", ".egg-info")) or name == "EGG-INFO":
            yield os.path.join(folder, name)


def name_and_version(described: str) -> tuple[str, str]:
    """Name and version as in the metadata; empty if missing."""
    said = {b"name": "", b"version": ""}
    for file in ("METADATA", "PKG-INFO", ""):
        head = start_of(os.path.join(described, file) if file else described)
        for line in head.splitlines():
            if not line.strip():
                break
            field, _, value = line.partition(b":")
            if said.get(field.lower()) == "":
                said[field.lower()] = value.strip().decode("utf-8", "replace")
        if head:
            break
    return said[b"name"], said[b"version"]


def digest_of(described: str) -> str:
    """The digest of a distribution's list of files, or of its metadata if it has no list."""
    for file in (*LISTS, "METADATA", "PKG-INFO"):
        try:
            with open(os.path.join(described, file), "rb") as opened:
                return hashlib.sha256(opened.read()).hexdigest()[:DIGITS]
        except OSError:
            continue
    return hashlib.sha256(start_of(described)).hexdigest()[:DIGITS]


def start_of(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(HEAD_BYTES)
    except OSError:
        return b""


BYTECODE = ".pyc"


def files_of(one: Distribution) -> Iterator[tuple[str, str, int]]:
    """Path, hash ("sha256=...") and size of each file whose hash is in the distribution's RECORD;
    none if there is no RECORD. Bytecode is left out: an installer compiles it again, even if a
    wheel contains some (NumPy 2.2.6 does).
    """
    import csv

    listed = os.path.join(one.folder, "RECORD")
    with contextlib.suppress(OSError), open(listed, encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            if len(row) == 3 and row[1] and row[2].isdecimal() and not row[0].endswith(BYTECODE):
                yield os.path.join(os.path.dirname(one.folder), row[0]), row[1], int(row[2])
