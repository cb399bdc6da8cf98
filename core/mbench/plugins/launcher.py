"""What a launcher implements: it starts the processes of a worker, here or on other machines."""

from __future__ import annotations

import importlib.util
import json
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import mbench
from mbench.contract.device import HOST
from mbench.errors import MbenchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mbench.contract import wire
    from mbench.contract.adapter import FrameworkInfo
    from mbench.contract.case import Case, ProofWork
    from mbench.contract.rank import RankInfo
    from mbench.contract.worker_state import WorkerState

__all__ = ["BOOTSTRAP", "Launcher", "Process", "Program", "Worker", "package_files", "pids_here"]

T = TypeVar("T")

BOOTSTRAP = Path(mbench.__file__).parent / "worker" / "bootstrap.py"


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to start: a framework's interpreter with mbench's bootstrap."""

    python: Path
    modules: Sequence[str]
    """Modules besides mbench that it must be able to import."""
    variables: Mapping[str, str]
    """Environment variables, in addition to those of mbench's own process."""
    log: Path
    """Its output is appended to this file."""
    steady_threads: int = 0
    """Number of threads, if addresses and cores are the same in every process; 0 if not fixed."""
    device: str = HOST
    """The kind of device that it computes on: each of several processes sees its own."""
    around: Mapping[str, str] = field(default_factory=dict)
    """Variables of mbench's own process that affect figures: processes on other machines get them
    too."""
    timeout_seconds: float
    """Longest wait for an answer, unless a question sets its own."""

    def of(self, rank_info: RankInfo) -> Program:
        """The program for one of several processes, each with its own log."""
        if rank_info.ranks == 1:
            return self
        log = self.log.with_stem(f"{self.log.stem}-rank{rank_info.rank}")
        return replace(self, log=log)

    def command(self, *arguments: str) -> list[str]:
        """The command line; `arguments` say how the bootstrap is connected."""
        files = json.dumps(package_files(["mbench", *self.modules]))
        return [str(self.python), str(BOOTSTRAP), *arguments, files]


def package_files(modules: Iterable[str]) -> dict[str, str]:
    """The file of each module's top-level package, for the bootstrap.

    Raises MbenchError for a module that is not installed.
    """
    files = {}
    for module in modules:
        top = module.partition(".")[0]
        found = importlib.util.find_spec(top)
        if found is None or found.origin is None:
            raise MbenchError(f"a plugin refers to the module {top!r}, which is not installed")
        files[top] = found.origin
    return files


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process of a worker; it leads a group that also holds its children."""

    pid: int
    host: str = ""
    """Name of its machine; empty for this one."""


class Worker(Protocol):
    """One framework in one process, or in several that act as one.

    Methods that ask it something raise CaseEnded if the worker fails. It survives a failed case.
    """

    log: Path
    """The framework's output."""
    processes: Sequence[Process]
    """Its processes, by rank."""
    memory_limit_bytes: int | None = None
    """Maximum memory of each process on the CPU; None: nearly all that is free."""
    states: Sequence[WorkerState] = ()
    """States of its processes, by rank, once it has imported its framework."""

    @abstractmethod
    def ask(self, message: object, answer: type[T], *, timeout: float | None = None) -> T:
        """Send `message` to all processes, wait for all answers, and return the first one's."""

    @abstractmethod
    def ask_all(self, message: object, answer: type[T], *, timeout: float | None = None) -> list[T]:
        """The same, but return all answers, by rank."""

    @abstractmethod
    def start(self, message: wire.Start) -> FrameworkInfo:
        """Import the framework; each process gets its own rank."""

    @abstractmethod
    def prepare(
        self, case: Case, *, load: bool = True, work: ProofWork | None = None
    ) -> wire.Prepared:
        """Build a case; see wire.Prepare."""

    @abstractmethod
    def run(
        self, count: int, *, each: bool = False, lead: int = 0, timeout: float | None = None
    ) -> wire.Elapsed:
        """Time `count` steps after `lead` others; with several processes, by the slowest one."""

    @abstractmethod
    def stop(self) -> None:
        """Freeze all processes and their children: they use no processor until resumed."""

    @abstractmethod
    def resume(self) -> None:
        """Let them continue."""

    @abstractmethod
    def close(self) -> None:
        """Ask the worker to end, wait a moment, then kill whatever remains."""

    @abstractmethod
    def kill(self) -> None:
        """End all processes and their children at once. May be called more than once."""


class Launcher(Protocol):
    """A way to start processes: on this machine, or by a cluster's own means.

    A launcher for several nodes also has `open(*, nodes, hosts, accelerators)`, which returns a
    launcher with a `close()`, or raises UsageError if that many nodes are not available.
    """

    def __call__(self, program: Program, ranks: Sequence[RankInfo], /) -> Worker:
        """Start a process for each rank, and wait until all have said hello; raises CaseEnded."""


def pids_here(worker: Worker) -> list[int]:
    """The process ids of a worker on this machine."""
    return [process.pid for process in worker.processes if not process.host]
