"""Writes a run: one folder with an append-only file of events and the workers' logs."""

from __future__ import annotations

import json
import os
import secrets
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import mbench
from mbench.equality.gates import DROPPED, TIMED
from mbench.errors import MbenchError
from mbench.results.calibration import key, recall
from mbench.results.folder import EVENTS_FILE, SCHEMA

if TYPE_CHECKING:
    from pathlib import Path

    from mbench.contract.adapter import FrameworkInfo
    from mbench.contract.case import Case
    from mbench.engine.outcome import CaseEnded
    from mbench.environments.environment import Environment
    from mbench.plan.plan import Comparison
    from mbench.plan.protocol import Protocol
    from mbench.results.run import Run

__all__ = ["RunWriter", "command_line"]


class RunWriter:
    """One run being made. Every event is on disk before `append` returns."""

    def __init__(
        self,
        folder: Path,
        *,
        protocol: Protocol,
        system: dict[str, Any],
        arguments: list[str],
    ) -> None:
        """Create the run's folder under `folder`; raises MbenchError where it cannot."""
        now = datetime.now(timezone.utc)
        self.id = f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        self.folder = folder / self.id
        try:
            self.folder.mkdir(parents=True)
            self._file = (self.folder / EVENTS_FILE).open("a", encoding="utf-8")
        except OSError as error:
            raise MbenchError(
                f"cannot write results to {folder} ({error.strerror}); name another with --results"
            ) from None
        self._system = system
        self.failures = 0
        self.ended = False
        self.append(
            "run",
            schema=SCHEMA,
            id=self.id,
            mbench=mbench.__version__,
            arguments=arguments,
            started=now.isoformat(timespec="seconds"),
            protocol=asdict(protocol),
            system=system,
        )

    def append(self, event: str, **fields: Any) -> None:
        """One event as one line."""
        line = json.dumps({"event": event, **fields}, allow_nan=False, separators=(",", ":"))
        self._file.write(line + "\n")
        self._file.flush()

    @classmethod
    def reopen(cls, run: Run, *, arguments: list[str]) -> RunWriter:
        """Go on with a run that was interrupted; a line that was cut off is cut away."""
        writer = cls.__new__(cls)  # without the folder and the header of a new run
        writer.id, writer.folder, writer.ended = run.id, run.folder, False
        writer._system = run.header["system"]
        writer.failures = sum(case.outcome is not None for case in run.cases.values())
        path = run.folder / EVENTS_FILE
        try:
            whole = path.read_bytes()
            writer._file = path.open("r+", encoding="utf-8")
            writer._file.truncate(len(whole) if not run.cut_off else whole.rfind(b"\n", 0, -1) + 1)
            writer._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise MbenchError(f"cannot write {path}: {error.strerror}") from None
        writer.append("resumed", arguments=arguments, mbench=mbench.__version__, at=timestamp())
        return writer

    def comparison(self, comparison: Comparison) -> None:
        """Write down what is going to be compared, and its cases unless some are to be found."""
        self.append("comparison", comparison=comparison.number, title=comparison.title)
        if comparison.settled:
            self.cases(comparison)

    def cases(self, comparison: Comparison) -> None:
        """Write down its cases, in which nothing is open any more."""
        for entry in comparison.entries:
            workload = entry.case.resolve()
            self.append(
                "case",
                case=entry.number,
                comparison=comparison.number,
                label=entry.label,
                framework=entry.spec.name,
                title=entry.adapter.title,
                spec=entry.spec.text,
                axes=asdict(entry.case),
                samples=workload.samples,
                flops_per_sample=workload.flops(entry.case.mode),
                standard=workload.is_standard(),
                loss_gate=loss_gate(entry.case),
            )

    def environment(self, case: int, environment: Environment) -> None:
        self.append(
            "environment",
            case=case,
            python=str(environment.python),
            managed=environment.managed,
            digest=environment.digest,
            packages=dict(environment.packages),
        )

    def framework(self, case: int, framework: str, axes: Case, info: FrameworkInfo) -> None:
        """Write down what a worker found, and what is known of this machine's noise in its case."""
        self.append("framework", case=case, **asdict(info))
        found = recall(key(self._system, framework, info.version, asdict(axes)))
        if found is not None:
            self.append("calibration", case=case, **asdict(found))

    def outcome(self, case: int, end: CaseEnded) -> None:
        """Record that a case fell short."""
        self.failures += 1
        self.append(
            "outcome",
            case=case,
            outcome=end.outcome,
            reason=end.reason,
            log=str(end.log) if end.log else None,
        )

    def log_path(self, name: str) -> Path:
        return self.folder / "logs" / name

    def end(self, status: str) -> None:
        """Close the run as "complete" or "interrupted"."""
        if not self.ended:
            self.ended = True
            with suppress(OSError):
                self.append("end", status=status, finished=timestamp())
                self._file.close()


def timestamp() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def loss_gate(case: Case) -> float:
    """How far the first losses of two frameworks may lie apart in what is timed."""
    drawn = case.resolve().config != replace(case, dropout=False).resolve().config
    return DROPPED if drawn else TIMED[case.precision]


def command_line() -> list[str]:
    """What the user typed."""
    return ["mbench", *sys.argv[1:]]
