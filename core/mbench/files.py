"""User files: read without blocking and within bounds, and written whole or not at all."""

from __future__ import annotations

import codecs
import errno
import json
import math
import os
import re
import secrets
import shutil
import stat
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbench.errors import UsageError, why

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

__all__ = ["Toml", "Unreadable", "line_of", "opened", "read_json", "read_toml", "replacing",
           "small_text", "write_whole"]  # fmt: skip

SMALL_BYTES = 2**20
DEEPEST = 32
"""Deepest nesting accepted in a file, far beyond what any of ours needs."""
LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*)"""
    f"{{{DEEPEST}}}"
)
"""A key with too many parts: the time of Python's parser grows with the square of their number."""
ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, with which it begins
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
IN_PLACE = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV)
"""Errors of replacing a file that may still be writable in place: its folder forbids the rename, or
the file is busy because it is mounted on its own, as in containers."""


class Unreadable(UsageError):
    """A file cannot be used; the message names it and says why. `missing`: it does not exist."""

    def __init__(self, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.missing = missing


def opened(path: Path, *, most: float = math.inf) -> BinaryIO:
    """A regular file of at most `most` bytes, open for reading; raises OSError for anything else.

    Neither a FIFO that nobody writes to nor a device blocks the caller.
    """
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    about = os.fstat(file.fileno())
    if not stat.S_ISREG(about.st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    if about.st_size > most:
        file.close()
        size = f"{about.st_size / 2**20:,.1f} MiB"
        raise OSError(errno.EFBIG, f"it has {size}; the limit is {most / 2**20:,.0f} MiB", path)
    return file


def _without_waiting(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NONBLOCK)


def small_text(path: Path, *, source: str = "", ours: bool = False) -> str:
    """The text of a small UTF-8 file, without a byte order mark; raises Unreadable.

    `source` is the file's name in messages. With `ours`, the file must belong to the user or root,
    and nobody else may have permission to write it.
    """
    source = source or str(path)
    try:
        with opened(path, most=SMALL_BYTES) as file:
            about = os.fstat(file.fileno())
            if ours and (about.st_uid not in (0, os.geteuid()) or about.st_mode & 0o022):
                raise OSError(errno.EPERM, "others may have written it", path)
            raw = file.read(SMALL_BYTES + 1)
            if raw is None:  # some files in /proc are regular, yet block their readers
                raise OSError(errno.EAGAIN, "reading it would block", path)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and not os.path.islink(path)
        raise Unreadable(f"cannot read {source}: {why(error)}", missing=missing) from None
    except ValueError:  # no file can have that name
        raise Unreadable(f"cannot read {source}: no file can have that name") from None
    if len(raw) > SMALL_BYTES:
        raise Unreadable(f"cannot read {source}: it is longer than its stated size")
    for mark, encoding in ENCODINGS.items():
        if raw.startswith(mark):
            raise Unreadable(f"{source} is encoded as {encoding}: save it as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Unreadable(
            f"{source}, line {line}: byte 0x{raw[error.start]:02x} is not UTF-8: save it as UTF-8"
        ) from None
    if "\0" in text:
        raise Unreadable(
            f"{source} holds NUL characters, as UTF-16 without a byte order mark does: save it as "
            "UTF-8"
        )
    return text


def read_json(path: Path, *, ours: bool = False) -> Any:
    """The content of a small JSON file; raises Unreadable."""
    text = small_text(path, ours=ours)
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise Unreadable(f"{path}, line {error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        found = None
        raise Unreadable(f"{path} is nested more than {DEEPEST} deep") from None
    except ValueError:
        raise Unreadable(f"{path} holds a number with thousands of digits") from None
    if _is_deep(found):
        raise Unreadable(f"{path} is nested more than {DEEPEST} deep")
    return found


@dataclass(frozen=True)
class Toml:
    """A TOML file: its text, for finding line numbers, and its content.

    `source` is the file's name in messages.
    """

    source: str
    text: str
    content: dict[str, Any]

    def wrong(self, message: str, key: str, *, table: str = "", number: int = 0) -> UsageError:
        """What is wrong with a key, as an error: in the `number`th table of that name, or else in
        the file itself.
        """
        line = line_of(self.text, key, table=table, number=number)
        line = line or line_of(self.text, key, table="")
        key = key if len(key) <= 60 else f"{key[:60]}..."
        where = f"{self.source}, line {line}" if line else self.source
        return UsageError(f"{where}, {key}: {message}")

    def table(self, *path: str) -> dict[str, Any]:
        """The table at that path, or an empty one if it is missing; raises UsageError if it is
        something else.
        """
        found: object = self.content
        for depth, key in enumerate(path):
            assert isinstance(found, dict)
            found = found.get(key, {})
            if not isinstance(found, dict):
                name = ".".join(path[: depth + 1])
                line = line_of(self.text, name, table="") or line_of(
                    self.text, key, table=".".join(path[:depth])
                )
                where = f"{self.source}, line {line}" if line else self.source
                raise UsageError(f"{where}, {name}: should be a table: [{name}]")
        assert isinstance(found, dict)
        return found


def read_toml(path: Path, *, source: str = "") -> Toml:
    """A small TOML file; raises Unreadable."""
    source = source or str(path)
    return parse_toml(small_text(path, source=source), source=source)


def parse_toml(text: str, *, source: str) -> Toml:
    """The TOML file that has this text; raises Unreadable."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    deep = Unreadable(f"{source} is nested more than {DEEPEST} deep")
    if LONG_KEY.search(text):
        raise Unreadable(f"{source} has a key of more than {DEEPEST} parts")
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise deep from None
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"{source} is not valid TOML: {error}") from None
    except ValueError:  # anything that Python's integers refuse
        raise Unreadable(f"{source} holds a number with thousands of digits") from None
    if _is_deep(content):
        raise deep
    return Toml(source, text, content)


def _is_deep(value: object) -> bool:
    """Whether data is nested deeper than DEEPEST, without recursion."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return any(isinstance(one, dict | list) for one in level)


def line_of(text: str, key: str, *, table: str, number: int = 0) -> int | None:
    """Line number (from 1) of `key` in the `number`th table (from 0) of that name, or None."""
    current, counts = "", {"": 1}
    for at, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
            current = header[1]
            counts[current] = counts.get(current, 0) + 1
            if table == "" and current == key:
                return at
        elif current == table and counts[current] == number + 1:
            name = re.match(r"""\s*["']?([\w-]+)["']?\s*[=.]""", line)
            if name and name[1] == key:
                return at
    return None


def write_whole(path: Path, raw: bytes, *, after: bool = False, mode: int | None = None) -> None:
    """Replace a file's content or, with `after`, append to it. If OSError is raised, a regular file
    is left as it was.
    """
    with replacing(path, mode=mode) as fresh:
        if fresh != path and after:
            with suppress(FileNotFoundError):
                shutil.copyfile(path, fresh)
        with fresh.open("ab" if after else "wb") as file:
            file.write(raw)


@contextmanager
def replacing(path: Path, *, mode: int | None = None) -> Iterator[Path]:
    """A new file to write to, which replaces the one at `path` if nothing is raised.

    Links are followed, and permissions are kept unless `mode` sets others. If the target cannot be
    replaced, `path` itself is returned, to be written in place: this is so for streams, devices,
    and files in a folder that is not writable.
    """
    target = _target(path)
    fresh = target and _fresh(target)
    if target is None or fresh is None:
        yield path
        return
    try:
        yield fresh
        if mode is None and target.exists():
            about = target.stat()
            with suppress(OSError):
                os.chown(fresh, about.st_uid, about.st_gid)
            mode = stat.S_IMODE(about.st_mode)
        if mode is not None:
            fresh.chmod(mode)
        _flush(fresh)
        try:
            fresh.replace(target)
        except OSError as error:
            if error.errno not in IN_PLACE or not target.exists():
                raise
            shutil.copyfile(fresh, target)
    except OSError as error:
        if error.filename in (str(fresh), fresh):
            error.filename = str(path)
        raise
    finally:
        fresh.unlink(missing_ok=True)


def _target(path: Path) -> Path | None:
    """Where links from `path` lead; None if that neither is nor would be a regular file."""
    target = path
    for _ in range(40):
        target = Path(os.path.realpath(target.parent), target.name)
        if target.is_relative_to("/proc"):  # as /dev/stdout is, wherever that stream leads
            return None
        if not target.is_symlink():
            break
        target = target.parent / os.readlink(target)
    if target.exists() and not target.is_file():
        return None
    return target


def _fresh(target: Path) -> Path | None:
    """A new file beside `target`; None if its folder allows none, but the file can be written."""
    fresh = target.with_name(f".mbench-{secrets.token_hex(6)}")
    try:
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))
    except OSError as error:
        if error.errno in IN_PLACE and target.exists():
            return None
        error.filename = str(target)
        raise
    return fresh


def _flush(file: Path) -> None:
    """Flush, so that disk errors appear now and not once the old file is gone."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # where fsync is not supported
            raise OSError(error.errno, error.strerror, str(file)) from None
    finally:
        os.close(descriptor)
