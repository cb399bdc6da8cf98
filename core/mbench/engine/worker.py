"""The seam between the harness and the processes that it measures, wherever they run."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from mbench.contract import wire
from mbench.engine.memory import resident_bytes, worker_limit_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mbench.contract.adapter import FrameworkInfo
    from mbench.contract.case import Case
    from mbench.contract.rank import RankInfo
    from mbench.engine.node import Node
    from mbench.engine.program import Program

__all__ = ["Launcher", "Process", "Worker", "pids_here"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process of a worker; it leads a group that holds its children too."""

    pid: int
    host: str = ""
    """Empty for this machine."""


class Worker(Protocol):
    """One framework in one process, or in several that act as one.

    What asks raises CaseEnded where the worker falls short. A failed case leaves it alive.
    """

    log: Path
    """What the framework printed."""
    processes: Sequence[Process]
    """By rank."""
    memory_limit_bytes: int | None = None
    """What each may hold at most on the CPU; None: nearly all memory that is free."""

    @property
    def kept(self) -> Mapping[Node, Sequence[int]]:
        """Its processes on other machines: their keys, by the node that keeps them."""
        return {}

    @abstractmethod
    def ask(self, message: object, answer: type[T], *, timeout: float | None = None) -> T:
        """Send `message` to all processes; the answer of the first, once all have answered."""

    @abstractmethod
    def ask_all(self, message: object, answer: type[T], *, timeout: float | None = None) -> list[T]:
        """The same, and all answers, by rank."""

    @abstractmethod
    def start(self, message: wire.Start) -> FrameworkInfo:
        """Import the framework; every process is told its own place."""

    def prepare(self, case: Case, *, load: bool = True) -> wire.Prepared:
        """Build a case; see wire.Prepare.

        It always names its learning rate, so that what is timed is asked for as proofs are. On CPU
        it may take nearly all memory that is free now, or `memory_limit_bytes` if that is less:
        then it fails by itself instead of making the machine swap.
        """
        told = replace(case, learning_rate=case.resolve().optimizer.learning_rate)
        limit = self.room_bytes() if case.device == "cpu" else None
        message = wire.Prepare(case=told, load=load, memory_limit_bytes=limit)
        return self.ask(message, wire.Prepared)

    def room_bytes(self) -> int:
        """What each process may hold in all of its machine's memory, as that is now."""
        here = pids_here(self)
        held = sum(map(resident_bytes, here))
        return worker_limit_bytes(self.memory_limit_bytes, held=held) // max(1, len(here))

    @abstractmethod
    def run(
        self, count: int, *, each: bool = False, lead: int = 0, timeout: float | None = None
    ) -> wire.Elapsed:
        """Time `count` steps after `lead` others; of several processes, the slowest one's times."""

    @abstractmethod
    def stop(self) -> None:
        """Freeze all processes and their children: they use no processor until resumed."""

    @abstractmethod
    def resume(self) -> None:
        """Let them go on."""

    @abstractmethod
    def close(self) -> None:
        """Say goodbye, give the worker a moment, then kill what is left of it."""

    @abstractmethod
    def kill(self) -> None:
        """End all processes and their children at once. May be called more than once."""


class Launcher(Protocol):
    """A way to start processes: on this machine, or by a cluster's own means.

    One that takes hold of several nodes has `open(*, nodes, hosts, accelerators)` besides: it gives
    another that is called, with a `close()`, or raises UsageError where so many are not to be had.
    """

    def __call__(self, program: Program, places: Sequence[RankInfo], /) -> Worker:
        """A process at each place, all of which have said hello; raises CaseEnded."""


def pids_here(worker: Worker) -> list[int]:
    """Those of its processes that are this machine's, which can be looked at."""
    return [process.pid for process in worker.processes if not process.host]
