"""Writes a run: one folder with an append-only file of events and the workers' logs."""

from __future__ import annotations

import secrets
from contextlib import suppress
from copy import deepcopy
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import mbench
from mbench.console import tell
from mbench.errors import MbenchError
from mbench.results import encoding, events
from mbench.results.folder import EVENTS_FILE, NAME, SCHEMA, find_runs
from mbench.results.records import Run
from mbench.results.runfile import RunFile
from mbench.results.seal import Seal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mbench.machine.records import System
    from mbench.spec.experiment import Experiment
    from mbench.spec.protocol import Protocol

__all__ = ["RunWriter"]


class RunWriter:
    """One run that is being written. Every event is in its file before `append` returns."""

    heard: Callable[[events.Event], None] = staticmethod(lambda event: None)
    """Called with every event that was written."""

    def __init__(
        self, folder: Path, *, experiment: Experiment, system: System, arguments: list[str],
        source: str = "",
    ) -> None:  # fmt: skip
        """Create the run's folder under `folder`; raises MbenchError if it cannot."""
        now = datetime.now(timezone.utc)
        self.id = f"{now:{NAME}}-{secrets.token_hex(2)}"
        self.folder = folder / self.id
        try:
            if not folder.exists():
                folder.mkdir(parents=True, exist_ok=True)
                # Raw values are for the person who measured: `git add .` must not add them.
                (folder / ".gitignore").write_text("*\n", encoding="utf-8")
            before = find_runs(folder)
            self.folder.mkdir()
            self._file = RunFile(self.folder / EVENTS_FILE, new=True)
        except OSError as error:
            raise MbenchError(
                f"cannot write results to {folder} ({error.strerror}); give another folder with "
                "--results or MBENCH_RESULTS"
            ) from None
        self.system = system
        self.failures = 0
        """Number of cases that fell short."""
        self.ended = False
        header = events.Run(
            schema=SCHEMA,
            id=self.id,
            after=before[-1].name if before else None,
            mbench=mbench.__version__,
            source=source,
            arguments=arguments,
            started=now.isoformat(timespec="seconds"),
            experiment=experiment,
            system=system,
        )
        self.run = Run(self.folder, header)
        """The run as it would be read."""
        self._seal = Seal()
        self._write(header)

    @classmethod
    def reopen(
        cls, file: RunFile, run: Run, *, arguments: list[str], protocol: Protocol, source: str = ""
    ) -> RunWriter:
        """Continue `run`, which was read while its `file` was locked, under `protocol`.

        A line that was cut off is removed. So is a damaged line with everything after it, of which
        a copy is kept.
        """
        writer = cls.__new__(cls)  # without the folder and the header of a new run
        writer.id, writer.folder, writer.ended = run.id, run.folder, False
        writer.run, writer.system = deepcopy(run), run.header.system  # others read it as it was
        writer.failures = sum(case.outcome is not None for case in run.cases.values())
        writer._file = file
        if run.damage is not None:
            if not run.damage.last:
                kept = file.keep_rest(run.damage.offset)
                tell(f"line {run.damage.line} of {run.id} is damaged: the run continues from "
                     f"before it, and the rest of the file is kept in {kept}")  # fmt: skip
            file.cut(run.damage.offset)
        if not file.content().endswith(b"\n"):
            file.append("")  # only the line feed of the last line was missing
        writer._seal = Seal(file.content())
        writer.append(
            events.Resumed(
                arguments=arguments,
                mbench=mbench.__version__,
                source=source,
                at=timestamp(),
                protocol=protocol,
            )
        )
        return writer

    def append(self, event: events.Event) -> None:
        """Write an event; raises Malformed if it could not be read back, and OSError."""
        self._write(event)
        self.failures += isinstance(event, events.Outcome)
        self.run.take(event)
        self.heard(event)

    def _write(self, event: events.Event, **room: int) -> None:
        line = encoding.encode(event)
        self._file.append(line, **room)
        self._seal.take(line)

    def log_path(self, name: str) -> Path:
        return self.folder / "logs" / name

    def end(self, status: str) -> None:
        """Close the run as "complete" or "interrupted"."""
        if not self.ended:
            self.ended = True
            with suppress(OSError, MbenchError):
                end = events.End(status=status, finished=timestamp())
                self._write(self._seal.sealed(end), spare=0)
            self.close()

    def close(self) -> None:
        """Close the file without ending the run; others may continue it."""
        self._file.close()


def timestamp() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
