"""What a training run writes down, line by line, as it happens; and how it is read back."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from mbench.contract.reading import Malformed, read_fields
from mbench.errors import MbenchError, UsageError, why
from mbench.files import opened
from mbench.machine.locks import lock
from mbench.results.folder import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["FILE", "Answers", "Arm", "Ended", "Evaluation", "Header", "LossPath", "Record",
           "SeedRun", "Writer", "pick", "read"]  # fmt: skip

FILE = "learning.jsonl"
MOST_BYTES = 2**30


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A framework of the run; `case` says how it computes, in words."""

    label: str
    framework: str
    precision: str
    compiler: str
    device: str
    threads: int
    tier: str


@dataclass(frozen=True, kw_only=True)
class Header:
    """What was asked for, before anything ran."""

    id: str
    task: dict[str, Any]
    """All of the task, as plain data."""
    task_digest: str
    data_digest: str
    data_folder: str
    """Of the user's, if any."""
    frameworks: list[str]
    """As they were given."""
    arms: list[Arm]
    """The first is the baseline."""
    asked: dict[str, str]
    """Precision, compiler and tier, as they were given."""
    seeds: int
    machine: str
    version: str


@dataclass(frozen=True, kw_only=True)
class Framework:
    """The version of an arm's framework, and what it does its own way."""

    label: str
    version: str
    differences: list[str]


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What an arm has left in float64 after a few steps of a squeezed schedule: sketches of the
    changes of all tensors, and of the logits of held-out data in inference mode, before and after.
    `path` are the losses of the first steps of the schedule as it is.
    """

    label: str
    losses: list[float | None] = field(default_factory=list)
    changes: dict[str, list[float]] = field(default_factory=dict)
    logits: list[list[float]] = field(default_factory=list)
    path: list[float | None] = field(default_factory=list)
    lack: str = ""
    """Why it has no float64 here; empty where it has."""


@dataclass(frozen=True, kw_only=True)
class LossPath:
    """The losses of an arm's first steps as they are timed, from the canonical start and from some
    that are a unit in the last place away.
    """

    label: str
    losses: list[float | None]
    nudged: list[list[float | None]]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """After so many steps: held-out data in inference mode. `seconds` are its own."""

    step: int
    accuracy: float
    loss: float | None
    seconds: float


@dataclass(frozen=True, kw_only=True)
class SeedRun:
    """One training run of one arm. `step_seconds` are of the steps between two evaluations."""

    label: str
    seed: int
    losses: list[float | None]
    evaluations: list[Evaluation]
    step_seconds: list[float]
    setup_seconds: float
    """Of starting the framework, building the model and compiling."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """An arm that could not go on; `seed` is None where it was before the first."""

    label: str
    outcome: str
    reason: str
    seed: int | None = None


KINDS = {kind.__name__: kind for kind in (Header, Framework, Answers, LossPath, SeedRun, Ended)}


class Record:
    """A training run, as far as it has come."""

    def __init__(self, folder: Path, events: Iterator[object]) -> None:
        self.folder = folder
        self.frameworks: dict[str, Framework] = {}
        self.answers: dict[str, Answers] = {}
        self.paths: dict[str, LossPath] = {}
        self.runs: dict[str, dict[int, SeedRun]] = {}
        self.ended: dict[str, Ended] = {}
        self.header: Header = None  # type: ignore[assignment]
        for event in events:
            self.take(event)
        if self.header is None:
            raise MbenchError(f"{folder / FILE} does not begin with a header")

    def take(self, event: object) -> None:
        if isinstance(event, Header):
            self.header = event
        elif isinstance(event, Framework):
            self.frameworks[event.label] = event
        elif isinstance(event, Answers):
            self.answers[event.label] = event
        elif isinstance(event, LossPath):
            self.paths[event.label] = event
        elif isinstance(event, SeedRun):
            self.runs.setdefault(event.label, {})[event.seed] = event
            self.ended.pop(event.label, None)
        elif isinstance(event, Ended):
            self.ended[event.label] = event


class Writer:
    """Appends events to a run's file, each in one line that is on the disk when it returns."""

    def __init__(
        self, results: Path, header: Header | None = None, run: Path | None = None
    ) -> None:
        """A new run with that header, or one that is continued; raises MbenchError."""
        assert (header is None) != (run is None)
        self.folder = run or results / (header.id if header else "")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.file = (self.folder / FILE).open("a+b")
            lock(self.file.fileno())
        except BlockingIOError:
            raise MbenchError(f"{self.folder} is being written by another mbench") from None
        except OSError as error:
            raise MbenchError(f"cannot write {self.folder}: {why(error)}") from None
        if header is not None:
            self.append(header)
        else:
            self.file.truncate(whole_bytes(self.folder / FILE))
        self.record = read(self.folder)

    def append(self, event: object) -> None:
        line = json.dumps({"kind": type(event).__name__, **asdict(event)}, allow_nan=False)  # type: ignore[call-overload]
        try:
            self.file.write(line.encode() + b"\n")
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise MbenchError(f"cannot write {self.folder / FILE}: {why(error)}") from None
        if hasattr(self, "record"):
            self.record.take(event)

    def close(self) -> None:
        self.file.close()


def new_id() -> str:
    """A name that is a time in UTC, and like no other."""
    return f"{datetime.now(timezone.utc):{NAME}}-train-{secrets.token_hex(2)}"


def whole_bytes(path: Path) -> int:
    """Up to the last end of a line: what comes after it was cut off."""
    with opened(path, most=MOST_BYTES) as file:
        return file.read().rfind(b"\n") + 1


def read(folder: Path) -> Record:
    """The training run in a folder; raises MbenchError. A last line that is cut off is left out."""
    try:
        with opened(folder / FILE, most=MOST_BYTES) as file:
            raw = file.read()
    except OSError as error:
        raise MbenchError(f"{folder} holds no training run: {why(error)}") from None
    return Record(folder, events_of(raw[: raw.rfind(b"\n") + 1], folder / FILE))


def events_of(raw: bytes, path: Path) -> Iterator[object]:
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            body = json.loads(line)
            kind = KINDS[body.pop("kind")]
            yield read_fields(kind, body, where=kind.__name__)
        except (ValueError, KeyError, AttributeError, TypeError, Malformed) as error:
            raise MbenchError(f"{path}, line {number}, is damaged: {error}") from None


def pick(results: Path, name: str | None) -> Path:
    """The training run of that name, or that begins so; of a folder; without one, the latest.

    Raises UsageError.
    """
    if name is not None and os.path.isfile(os.path.join(name, FILE)):
        from pathlib import Path as Folder

        return Folder(name)
    there = sorted(path.parent for path in results.glob(f"*/{FILE}"))
    fitting = there if name is None else [run for run in there if run.name.startswith(name)]
    if name is not None and len(fitting) > 1:
        raise UsageError(f"{name} may be {', '.join(run.name for run in fitting)}")
    if not fitting:
        said = "there is no training run" if name is None else f"there is no training run {name}"
        raise UsageError(f"{said} in {results}: mbench train --task glyphs --frameworks ... makes "
                         "one")  # fmt: skip
    return fitting[-1]
