"""What is kept of a case beside its times: where it ran, and what a search tried before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mbench.contract.quantities import Bytes, Number, Seconds
from mbench.contract.reading import Malformed
from mbench.machine.records import System

__all__ = ["EnvironmentRecord", "NodeRecord", "Tried"]


@dataclass(frozen=True, kw_only=True)
class EnvironmentRecord:
    """Where the workers of a case ran."""

    python: str
    """Path of the interpreter."""
    python_version: str
    """Its version."""
    managed: bool
    """mbench built the environment."""
    digest: str | None
    """Digest of its requirements, Python and all packages; None where it is the user's own."""
    packages: dict[str, str]
    """All installed distributions and their versions."""


@dataclass(frozen=True, kw_only=True)
class NodeRecord:
    """A machine other than the one that runs mbench, on which a case computed."""

    host: str
    """Its name in outcomes and in telemetry."""
    ranks: list[Number]
    """Those that run there."""
    system: System
    """What its keeper found there."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One value of a search, tried in workers of its own."""

    value: int | str
    """Batch size or compiler."""
    outcome: str = "ok"
    """How it ended, in a word."""
    reason: str = ""
    """Why the outcome is not "ok"."""
    step_seconds: Seconds | None = None
    """Duration of a step, roughly, or the mean of `processes`; None where it did not run."""
    peak_bytes: Bytes | None = None
    """Most memory in use; None where it did not run, or its framework does not tell."""
    processes: list[Seconds] = field(default_factory=list)
    """Duration of a step in each fresh process, where values took turns."""

    def __post_init__(self) -> None:
        if self.outcome == "ok" and self.step_seconds is None:
            raise Malformed(f"{self.value!r:.60} was tried well, without a time")
