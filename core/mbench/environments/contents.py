"""Whether a managed environment still holds what was installed when it was built."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

from mbench.contract.installed import Distribution, distributions, files_of
from mbench.environments import managed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["difference", "installed_in", "versions_differ"]

LIST = "RECORD"
ALGORITHM = "sha256="
READ_BYTES = 2**20


def installed_in(folder: Path, record: managed.Record) -> dict[str, Distribution]:
    """The distributions of an environment, read without starting its Python."""
    minor = ".".join(record.python.split(".")[:2])
    home = folder / "lib" / f"python{minor}" / "site-packages"
    return distributions([str(home), *added_to(home)])


def added_to(home: Path) -> Iterator[str]:
    """The folders that the .pth files in `home` add to the path."""
    for file in sorted(home.glob("*.pth")):
        with contextlib.suppress(OSError):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                named = home / line.strip()
                if line.strip() and named != home and named.is_dir():
                    yield str(named)


def difference(folder: Path, record: managed.Record) -> str:
    """The first change since the environment was built, in words; empty if there is none.

    Installed files are compared with their distribution's list: by size, and by content if they are
    newer than the environment's record, which was written last.
    """
    found = installed_in(folder, record)
    if not found:  # what is left cannot start, and will report that itself
        return ""
    versions = {name: one.version for name, one in found.items()}
    if different := versions_differ(record.packages, versions):
        return different
    built = managed.record_file(folder).stat().st_mtime_ns
    for name, one in found.items():
        for file in changed_files(one, built):
            return f"{name} {one.version} differs from what was installed: {file}"
    return ""


def versions_differ(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """The first distribution with a different version, in words; empty if there is none."""
    for name in sorted({*then, *now}):
        before, after = then.get(name), now.get(name)
        if before is None:
            return f"{name} {after} was added"
        if after is None:
            return f"{name} {before} was removed"
        if before != after:
            return f"{name} is {after} instead of {before}"
    return ""


def changed_files(one: Distribution, built: int) -> Iterator[str]:
    """Descriptions of files that are missing, or whose content differs from the list."""
    listed = os.path.join(one.folder, LIST)
    if os.path.exists(listed) and os.stat(listed).st_mtime_ns > built:
        yield "it was reinstalled later"
    for path, expected, size in files_of(one):
        try:
            about = os.stat(path)
        except OSError:
            yield f"{path} is gone"
            continue
        newer = about.st_mtime_ns > built and expected.startswith(ALGORITHM)
        if about.st_size != size or (newer and hashed(path) != expected):
            yield f"{path} was changed"


def hashed(path: str) -> str:
    """A file's hash in the form of RECORD files: "sha256=" and base64 without padding; empty if
    unreadable.
    """
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while part := file.read(READ_BYTES):
                digest.update(part)
    except OSError:
        return ""
    return ALGORITHM + base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")
