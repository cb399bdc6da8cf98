"""Finds how far runs' files can be read, at no more than the cost of reading them: many are checked
at once.
"""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mbench.console import tell
from mbench.errors import MbenchError, reason_of
from mbench.files import opened
from mbench.results.runfile import LONGEST_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

__all__ = ["readable"]

OF_BLOCKS = ("block", "telemetry", "evidence")
"""Events that are never the same twice: a line that repeats one was copied."""


@contextmanager
def readable(files: Sequence[Path]) -> Iterator[list[Path]]:
    """The same files, but with damaged ones replaced by what comes before the damage, as everything
    else reads them. Each damaged file is reported.
    """
    with TemporaryDirectory(prefix="mbench-") as folder:
        try:
            found = [part(path, Path(folder, f"{at}.jsonl")) for at, path in enumerate(files)]
        except OSError as error:
            raise MbenchError(f"cannot read {reason_of(error)}") from None
        yield found


def part(path: Path, whole: Path) -> Path:
    """`path` itself, or `whole`, a copy of the part that can be read."""
    with opened(path) as file:
        line, offset = damage_of(file) or (0, 0)
        if line < 2:  # a file that is not a run at all is refused by its reader
            return path
        tell(f"{path}, line {line} is damaged: it and what follows are left out")
        file.seek(0)
        with whole.open("wb") as copy:
            shutil.copyfileobj(Part(file, offset), copy)
    return whole


class Part:
    """The next `size` bytes of `file`, as a file to read."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.left = file, size

    def read(self, size: int = -1) -> bytes:
        some = self.file.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(some)
        return some


def damage_of(file: BinaryIO) -> tuple[int, int] | None:
    """The number of the first line that cannot be read, and where it begins; None if there is none.
    A last line that was cut off is not damage: all readers leave it out.
    """
    offset = number = 0
    before, ended = b"", False
    cases: set[object] = set()
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        torn = not line.endswith(b"\n")
        try:
            body = json.loads(line)
            event = body["event"]
        except (ValueError, LookupError, TypeError, RecursionError):
            return None if torn and len(line) <= LONGEST_LINE else (number, offset)
        if number > 1:
            second = event == "run" or (ended and event != "resumed")
            if second or (line == before and event in OF_BLOCKS):
                return number, offset
        case = body.get("case")
        if event == "case":
            cases.add(case if isinstance(case, int) else None)
        elif isinstance(case, int) and case not in cases:
            return number, offset
        ended = event == "end"
        before, offset = line, offset + len(line)
    return None
