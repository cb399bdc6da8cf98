"""The environments that mbench keeps: in the folder MBENCH_ENVIRONMENTS, else in the user's cache.

torch-py3.11-0123456789ab/       an environment, whole, with its environment.json, which is held by
                                 all who use it
torch-py3.11-0123456789ab.log    what pip said when it was built
torch-py3.11-0123456789ab.lock   held by whoever builds or removes it
torch-py3.11-0123456789ab.tmp-*  being built, or left behind by a build that was killed
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.environments import lock, record
from mbench.errors import MbenchError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.environments.record import Record

__all__ = ["Entry", "discard", "entries", "entry", "key", "lock_file", "python_in", "remove",
           "root", "use"]  # fmt: skip

_NAME = re.compile(r"(?P<key>[\w.-]+-py\d+\.\d+-[0-9a-f]{12})(\.tmp-.+)?")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One environment on disk. A broken one has no record but a reason, and can be removed."""

    name: str
    folder: Path
    record: Record | None
    broken: str = ""

    def size_bytes(self) -> int:
        """Disk space in use; walks the whole folder."""
        return sum(
            os.lstat(os.path.join(folder, name)).st_blocks * 512
            for folder, _, names in os.walk(self.folder)
            for name in names
        )


def root() -> Path:
    """The folder of all managed environments; it may not exist yet."""
    import platformdirs

    chosen = os.environ.get("MBENCH_ENVIRONMENTS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_cache_path("mbench", appauthor=False) / "environments"


def key(adapter: str, *, requirements: Sequence[str], python: str) -> str:
    """The name of an environment: one and the same for all who would build the same.

    `python` is the minor version, "3.11".
    """
    # The platform is for homes that machines of several kinds share.
    whole = [adapter, list(requirements), python, sysconfig.get_platform()]
    digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
    return f"{adapter}-py{python}-{digest[:12]}"


def python_in(folder: Path) -> Path:
    """The interpreter of an environment; scripts beside it do not survive a renamed folder."""
    return folder / "bin" / "python"


def entry(name: str) -> Entry:
    """The environment of that name as it is on disk, broken if it is not there."""
    folder = root() / name
    try:
        found = record.read(folder)
    except record.Malformed as error:
        return Entry(name=name, folder=folder, record=None, broken=str(error))
    if not python_in(folder).exists():
        return Entry(name=name, folder=folder, record=None, broken="the Python it uses is gone")
    return Entry(name=name, folder=folder, record=found)


def entries() -> list[Entry]:
    """All environments, and what killed builds have left behind."""
    return [entry(name) for name in names()]


def names() -> list[str]:
    """Of all `entries`."""
    if not root().is_dir():
        return []
    # Only names that are ours: the folder is the user's choice and may hold other things.
    found = sorted(path.name for path in root().iterdir() if path.is_dir())
    return [name for name in found if _NAME.fullmatch(name)]


def remove(name: str) -> None:
    """Delete one of the `entries`. Raises UsageError if there is none of that name."""
    names = [known.name for known in entries()]
    match = _NAME.fullmatch(name)
    if name not in names or match is None:
        known = f"there are {', '.join(names)}" if names else "there are none"
        raise UsageError(f"no environment is named {name!r}: {known}")

    def refuse(why: str) -> None:
        raise MbenchError(f"{name} is {why} right now: stop that, or try again later")

    with (
        lock.locked(lock_file(match["key"]), busy=lambda: refuse("being built")),
        lock.unused(record.file(root() / name), busy=lambda: refuse("in use")),
    ):
        discard(root() / name)
        (root() / f"{name}.log").unlink(missing_ok=True)


def discard(folder: Path) -> None:
    """Delete an environment, the record first: if we are killed, the rest counts as broken.

    Of a link, what it points to is somebody else's.
    """
    if folder.is_symlink():
        folder.unlink()
        return
    record.remove(folder)
    shutil.rmtree(folder, ignore_errors=True)


def lock_file(key: str) -> Path:
    return root() / f"{key}.lock"


def use(name: str) -> tuple[Entry, lock.Use]:
    """The environment of that name, which stays as it is while the second value lives."""
    held = lock.Use(record.file(root() / name))
    return entry(name), held
