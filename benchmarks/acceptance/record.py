"""What was found until now, written after every step so that nothing is lost."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from acceptance.page import page_of
from acceptance.step import PASSED, SKIPPED

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Record", "Result", "load", "write_whole"]

SCHEMA = 1
JSON, PAGE = "acceptance.json", "acceptance.md"


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a step ended."""

    name: str
    phase: str
    about: str
    outcome: str
    reason: str
    command: str
    """As it would be typed, including variables; empty if the step did not begin."""
    returncode: int | None = None
    seconds: float | None = None
    limit_seconds: float | None = None
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass
class Record:
    """All results, in the order of the steps."""

    folder: Path
    command: str
    setting: dict[str, Any]
    machine: dict[str, Any]
    versions: dict[str, str]
    started: str = field(default_factory=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    status: str = "unfinished"
    results: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.results.append(result)
        self.write()

    def end(self, status: str) -> None:
        self.status = status
        self.write()

    @property
    def well(self) -> bool:
        return all(result.outcome in (PASSED, SKIPPED) for result in self.results)

    def document(self) -> dict[str, Any]:
        found = {name: value for name, value in vars(self).items() if name not in ("folder",)}
        return {"schema": SCHEMA, **found, "results": [asdict(one) for one in self.results]}

    def write(self) -> None:
        document = self.document()
        write_whole(self.folder / JSON, json.dumps(document, indent=1) + "\n")
        write_whole(self.folder / PAGE, page_of(document))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that there is either the old or the new one, never half of it."""
    beside = path.with_name(f"{path.name}.new")
    with beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def load(folder: Path) -> dict[str, Result]:
    """The results that were written to `folder` before, by the names of their steps, if any.

    Raises ValueError for a file that holds something else.
    """
    try:
        document = json.loads((folder / JSON).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"{folder / JSON} is no record of schema {SCHEMA}")
    return {one["name"]: Result(**one) for one in document["results"]}
