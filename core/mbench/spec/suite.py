"""Reads a suite: tables with the same keys as command-line options, and the line of each."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.errors import UsageError
from mbench.files import Toml, read_toml
from mbench.plugins.manager import nearest
from mbench.spec.values import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Suite", "find_suite", "suite_names"]

FOLDER = Path(__file__).parent / "suites"
SWEEP, PROTOCOL = "sweep", "protocol"
KEYS = ("title", "frameworks", PROTOCOL, SWEEP)


@dataclass(frozen=True)
class Suite:
    """Sweeps to measure, one after the other, all with one protocol.

    `frameworks` is empty if the suite leaves the choice to the user.
    """

    file: Toml
    title: str
    frameworks: tuple[str, ...]
    protocol: Mapping[str, object]
    sweeps: tuple[Mapping[str, object], ...]

    def wrong(self, message: str, *, key: str, sweep: int | None = None) -> UsageError:
        """An error about `key` in a sweep, in the protocol, or in the suite itself."""
        table = SWEEP if sweep is not None else PROTOCOL
        return self.file.wrong(message, key, table=table, number=sweep or 0)

    @contextmanager
    def locating(self, frameworks: Sequence[str]) -> Iterator[None]:
        """Errors about the contents of this suite name the line and key. `frameworks` are those
        that are measured, which may be the suite's own.
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


def suite_names() -> list[str]:
    """The names of the suites that come with mbench."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_suite(name: str) -> Suite | None:
    """The suite in the file `name`, or mbench's own of that name; None if no suite has that name.

    Raises UsageError, with the line and the key, for a file that is not a suite.
    """
    if name in suite_names():
        return read_suite(FOLDER / f"{name}.toml", source=f"suite {name}")
    return read_suite(Path(name), source=name) if name.endswith(".toml") else None


def read_suite(path: Path, *, source: str) -> Suite:
    """The suite in a file; raises UsageError."""
    file = read_toml(path, source=source)
    content = file.content
    suite = Suite(file, "", (), {}, ())
    for key in content:
        if key not in KEYS:
            raise suite.wrong(f"unknown key{nearest(key, KEYS)}", key=key)
    frameworks = content.get("frameworks", [])
    if not isinstance(frameworks, list) or not all(isinstance(f, str) for f in frameworks):
        raise suite.wrong('should be a list of frameworks, like ["a", "b"]', key="frameworks")
    if not isinstance(content.get("title", ""), str):
        raise suite.wrong("should be text", key="title")
    protocol = file.table(PROTOCOL)
    sweeps = content.get(SWEEP, [])
    if not isinstance(sweeps, list) or not all(isinstance(sweep, dict) for sweep in sweeps):
        raise suite.wrong(f"should be a list of tables: [[{SWEEP}]]", key=SWEEP)
    if not sweeps:
        raise UsageError(f"{source} measures nothing: it has no [[{SWEEP}]]")
    return Suite(file, content.get("title", ""), tuple(frameworks), protocol, tuple(sweeps))
