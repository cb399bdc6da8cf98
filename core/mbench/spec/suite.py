"""Reads a suite: tables of the same keys as the command line's options, and where each stands."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.plugins.manager import nearest
from mbench.spec.values import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Suite", "find_suite", "suite_names"]

FOLDER = Path(__file__).parent / "suites"
SWEEP, PROTOCOL = "sweep", "protocol"
KEYS = ("title", "frameworks", PROTOCOL, SWEEP)


@dataclass(frozen=True)
class Suite:
    """Sweeps to measure, one after the other, all by one protocol.

    `frameworks` is empty where the suite leaves them to whoever runs it.
    """

    source: str
    text: str
    title: str
    frameworks: tuple[str, ...]
    protocol: Mapping[str, object]
    sweeps: tuple[Mapping[str, object], ...]

    def wrong(self, message: str, *, key: str, sweep: int | None = None) -> UsageError:
        """What is wrong with `key`: of a sweep, of the protocol, or of the suite itself."""
        table = SWEEP if sweep is not None else PROTOCOL
        line = line_of(self.text, key, table=table, number=sweep or 0)
        line = line or line_of(self.text, key, table="", number=0)
        where = f"{self.source}, line {line}" if line else self.source
        return UsageError(f"{where}, {key}: {message}")

    @contextmanager
    def locating(self, frameworks: Sequence[str]) -> Iterator[None]:
        """Errors about what this suite says name its line and key. `frameworks` are those that are
        measured, which may be the suite's own.
        """
        try:
            yield
        except UsageError as error:
            key = (error.option or "").removeprefix("--")
            if key == "frameworks" and tuple(frameworks) == self.frameworks:
                raise self.wrong(str(error), key=key) from None
            key = "name" if key == "protocol" else key
            if error.sweep is None:
                raise (self.wrong(str(error), key=key) if key in self.protocol else error) from None
            table = self.sweeps[error.sweep]
            if key not in table and key.replace("-", "_") in sizes(table.get("size", ())):
                key = "size"
            if key in table:
                raise self.wrong(str(error), key=key, sweep=error.sweep) from None
            raise


def line_of(text: str, key: str, *, table: str, number: int) -> int | None:
    """The line, from 1, of `key` in the table of that name, counted from 0; None if unseen."""
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


def suite_names() -> list[str]:
    """Of the suites that come with mbench."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_suite(name: str) -> Suite | None:
    """The suite in the file `name`, or ours of that name; None for what is no suite's name.

    Raises UsageError for a file that is none, with the line and the key.
    """
    if name in suite_names():
        return read_suite(FOLDER / f"{name}.toml", source=f"suite {name}")
    return read_suite(Path(name), source=name) if name.endswith(".toml") else None


def read_suite(path: Path, *, source: str) -> Suite:
    """The suite in a file; raises UsageError."""
    try:
        text = path.read_bytes().decode()
        content = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read the suite {source}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # of UTF-8, or of TOML
        raise UsageError(f"{source} is not valid TOML: {error}") from None
    suite = Suite(source, text, "", (), {}, ())
    for key in content:
        if key not in KEYS:
            raise suite.wrong(f"unknown key{nearest(key, KEYS)}", key=key)
    frameworks = content.get("frameworks", [])
    if not isinstance(frameworks, list) or not all(isinstance(f, str) for f in frameworks):
        raise suite.wrong('should be a list of frameworks, like ["a", "b"]', key="frameworks")
    if not isinstance(content.get("title", ""), str):
        raise suite.wrong("should be text", key="title")
    if not isinstance(content.get(PROTOCOL, {}), dict):
        raise suite.wrong(f"should be a table: [{PROTOCOL}]", key=PROTOCOL)
    sweeps = content.get(SWEEP, [])
    if not isinstance(sweeps, list) or not all(isinstance(sweep, dict) for sweep in sweeps):
        raise suite.wrong(f"should be a list of tables: [[{SWEEP}]]", key=SWEEP)
    if not sweeps:
        raise UsageError(f"{source} measures nothing: it has no [[{SWEEP}]]")
    return Suite(
        source, text, content.get("title", ""), tuple(frameworks), content.get(PROTOCOL, {}),
        tuple(sweeps),
    )  # fmt: skip
