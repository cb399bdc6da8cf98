"""The environments that mbench manages, in the folder MBENCH_ENVIRONMENTS or the user's cache.

torch-py3.11-0123456789ab/       a complete environment, with its environment.json, which every
                                 process that uses it locks
torch-py3.11-0123456789ab.log    pip's output when it was built
torch-py3.11-0123456789ab.lock   held by the process that builds or removes it
torch-py3.11-0123456789ab.held   replaces .lock on a file system without locks: names that process
torch-py3.11-0123456789ab.tmp-*  being built, or left behind by a build that was killed
0123456789ab...seconds           how long building one for a framework took last time
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sysconfig
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.console import span
from mbench.contract.reading import read_fields
from mbench.errors import MbenchError, UsageError
from mbench.files import Unreadable, read_json, write_whole
from mbench.machine import durations
from mbench.machine.locks import lock, lock_file_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "ELSEWHERE",
    "BrokenRecord",
    "Entry",
    "Record",
    "Use",
    "discard",
    "entries",
    "entry",
    "keep_time",
    "key",
    "lock_file",
    "locked",
    "python_in",
    "read_record",
    "record_file",
    "remove",
    "remove_record",
    "root",
    "took",
    "unused",
    "use",
    "write_record",
]


ELSEWHERE = (
    "MBENCH_ENVIRONMENTS sets another folder for environments, XDG_CACHE_HOME one for everything "
    "that mbench keeps"
)
"""A hint for when the usual folder cannot be used."""
TICK_SECONDS = 0.2

_NAME = re.compile(r"(?P<key>[\w.-]+-py\d+\.\d+-[0-9a-f]{12})(\.tmp-.+)?")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One environment on disk. A broken one has a reason instead of a record."""

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
    """The name of an environment: equal if the same environment would be built.

    `python` is the minor version, "3.11".
    """
    # The platform counts because machines of several kinds may share a home folder.
    whole = [adapter, list(requirements), python, sysconfig.get_platform()]
    digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
    return f"{adapter}-py{python}-{digest[:12]}"


def python_in(folder: Path) -> Path:
    """The interpreter of an environment; scripts beside it break when the folder is renamed."""
    return folder / "bin" / "python"


def entry(name: str) -> Entry:
    """The environment of that name on disk; broken if it does not exist."""
    folder = root() / name
    try:
        found = read_record(folder)
    except BrokenRecord as error:
        return Entry(name=name, folder=folder, record=None, broken=str(error))
    if not python_in(folder).exists():
        return Entry(name=name, folder=folder, record=None, broken="the Python it uses is gone")
    return Entry(name=name, folder=folder, record=found)


def entries() -> list[Entry]:
    """All environments, including the remains of killed builds."""
    return [entry(name) for name in names()]


def took(adapter: str, accelerator: str) -> str:
    """How long building an environment for `adapter` took last time, in words; empty if never
    built.
    """
    seconds = durations.last(root(), f"{adapter} {accelerator}")
    return f"about {span(seconds)}, as last time" if seconds else ""


def keep_time(adapter: str, accelerator: str, seconds: float) -> None:
    """Remember how long building an environment took, for `took`."""
    durations.keep(root(), f"{adapter} {accelerator}", seconds)


def names() -> list[str]:
    """The names of all `entries`."""
    try:
        if not root().is_dir():
            return []
        # Only names in our format: the user chose the folder, which may hold other files.
        found = sorted(path.name for path in root().iterdir() if path.is_dir())
    except OSError as error:
        raise MbenchError(f"cannot read {root()}: {error.strerror}. {ELSEWHERE}") from None
    return [name for name in found if _NAME.fullmatch(name)]


def remove(name: str) -> None:
    """Delete one of the `entries`; raises UsageError if no environment has that name."""
    names = [known.name for known in entries()]
    match = _NAME.fullmatch(name)
    if name not in names or match is None:
        known = f"available: {', '.join(names)}" if names else "there are none"
        raise UsageError(f"no environment is named {name!r}; {known}")

    def refuse(why: str) -> None:
        raise MbenchError(f"{name} is {why}: stop that, or try again later")

    with (
        locked(lock_file(match["key"]), busy=lambda: refuse("being built")),
        unused(record_file(root() / name), busy=lambda: refuse("in use")),
    ):
        discard(root() / name)
        (root() / f"{name}.log").unlink(missing_ok=True)


def discard(folder: Path) -> None:
    """Delete an environment, its record first: if we are killed, the rest counts as broken.

    If `folder` is a symbolic link, only the link is deleted.
    """
    if folder.is_symlink():
        folder.unlink()
        return
    remove_record(folder)
    shutil.rmtree(folder, ignore_errors=True)


def lock_file(key: str) -> Path:
    return root() / f"{key}.lock"


def use(name: str) -> tuple[Entry, Use]:
    """The environment of that name; it is not removed while the second value lives."""
    held = Use(record_file(root() / name))
    return entry(name), held


_RECORD = "environment.json"
_SCHEMA = 1


class BrokenRecord(Exception):
    """A folder has no readable record; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """How a managed environment was built; `created` is ISO 8601 in UTC."""

    adapter: str
    requirements: list[str]
    python: str
    packages: dict[str, str]
    created: str
    mbench: str

    @property
    def digest(self) -> str:
        """Equal for environments with the same contents."""
        whole = [self.requirements, self.python, self.packages]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def write_record(record: Record, *, folder: Path) -> None:
    content = {"schema": _SCHEMA, "digest": record.digest, **asdict(record)}
    write_whole(record_file(folder), f"{json.dumps(content, indent=2)}\n".encode())


def read_record(folder: Path) -> Record:
    """Raises BrokenRecord unless `folder` has a complete, unchanged record."""
    try:
        content = read_json(record_file(folder))
        schema, digest = content.pop("schema"), content.pop("digest")
        if schema != _SCHEMA:
            raise BrokenRecord(f"{_RECORD} has the unknown schema {schema!r}")
        record: Record = read_fields(Record, content, where=_RECORD)
        same = record.digest == digest
    except Unreadable as error:
        said = f"it has no {_RECORD}" if error.missing else f"{_RECORD} is not readable: {error}"
        raise BrokenRecord(said) from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BrokenRecord(f"{_RECORD} is not readable: {error}") from error
    if not same:
        raise BrokenRecord(f"{_RECORD} does not match its digest")
    return record


def record_file(folder: Path) -> Path:
    return folder / _RECORD


def remove_record(folder: Path) -> None:
    record_file(folder).unlink(missing_ok=True)


class Use:
    """An environment in use: it is not removed while this object lives."""

    def __init__(self, record: Path) -> None:
        """`record` is the environment's own file, so users of it need no write access."""
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):  # without that file, the environment is broken
            self._descriptor = os.open(record, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            lock(self._descriptor, shared=True)

    def release(self) -> None:
        """May be called more than once."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    __del__ = release


@contextlib.contextmanager
def unused(record: Path, *, busy: Callable[[], None]) -> Iterator[None]:
    """Keep others from using an environment; `busy` is called if it is in use."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(FileNotFoundError):
            held = os.open(record, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            stack.callback(os.close, held)
            try:
                lock(held)
            except BlockingIOError:
                busy()
        yield


@contextlib.contextmanager
def locked(file: Path, *, busy: Callable[[], None]) -> Iterator[None]:
    """Hold a lock exclusively; `busy` is called before waiting for another holder."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(file, flags, 0o666)
    except OSError as error:  # the folder is not writable
        said = f"cannot lock {file.stem}: {error.strerror}: {error.filename}. {ELSEWHERE}"
        raise MbenchError(said) from None
    try:
        if _awaited(descriptor, busy):
            yield
        else:
            with lock_file_alone(file.with_suffix(".held"), doing=f"at work on {file.stem}"):
                yield
    finally:
        # The file stays: if it were deleted, others waiting for it would lock a different file.
        os.close(descriptor)


def _awaited(descriptor: int, busy: Callable[[], None]) -> bool:
    """Lock the file once nobody else holds it; False if the file system has no locks."""
    try:
        return lock(descriptor)
    except BlockingIOError:
        busy()
    while True:  # on some file systems, waiting for the lock itself could not be interrupted
        time.sleep(TICK_SECONDS)
        with contextlib.suppress(BlockingIOError):
            return lock(descriptor)
