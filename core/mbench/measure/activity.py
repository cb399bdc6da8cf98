"""What measuring reports as it goes: events that are not stored, and their listeners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from mbench.engine.outcome import CaseEnded
    from mbench.results.events import Event

__all__ = [
    "Activity",
    "BlockBegan",
    "BlockEnded",
    "CaseStopped",
    "ComparisonBegan",
    "Decision",
    "Listener",
    "LogEnd",
    "MeasuringBegan",
    "Notice",
    "PhaseBegan",
    "ProcessBegan",
    "RunPlanned",
    "Stored",
    "phases_of",
]


@dataclass(frozen=True)
class RunPlanned:
    """The seconds each comparison is expected to take; None where unknown."""

    seconds: tuple[float | None, ...]


@dataclass(frozen=True)
class ComparisonBegan:
    """The next comparison, of entries with these labels."""

    title: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class MeasuringBegan:
    """A comparison's measurement has begun. `processes` is None if precision decides how many."""

    processes: int | None
    budget_seconds: float | None
    fewest: int = 1
    """Processes that are always started, whatever the budget."""


@dataclass(frozen=True)
class ProcessBegan:
    """Fresh processes of the comparison have begun: its set of this number, counted from 1."""

    number: int


@dataclass(frozen=True)
class PhaseBegan:
    """What `label` is doing now; `over` is what it has finished."""

    label: str
    text: str
    over: bool = False


@dataclass(frozen=True)
class BlockBegan:
    """The next block of `label`, after `done` of `of` units: rounds or steps."""

    label: str
    unit: str
    done: int
    of: int
    seconds: float
    """How long the block is expected to take."""


@dataclass(frozen=True)
class BlockEnded:
    label: str
    samples_per_second: float


@dataclass(frozen=True)
class CaseStopped:
    """`label` is not measured any further."""

    label: str
    end: CaseEnded


@dataclass(frozen=True)
class Stored:
    """An event was written to the run's file."""

    event: Event


@dataclass(frozen=True)
class Decision:
    """What was decided, and why."""

    text: str


@dataclass(frozen=True)
class Notice:
    """What users should see at once."""

    text: str


@dataclass(frozen=True)
class LogEnd:
    """The last part of a worker's log, which is not kept."""

    text: str


Activity: TypeAlias = (
    "RunPlanned | ComparisonBegan | MeasuringBegan | ProcessBegan | PhaseBegan | BlockBegan"
    " | BlockEnded | CaseStopped | Stored | Decision | Notice | LogEnd"
)


class Listener(Protocol):
    """Follows a run from the process that measures it."""

    def hear(self, activity: Activity, /) -> None:
        """Called in the order of events, from the thread that measures."""

    def quiet(self) -> AbstractContextManager[None]:
        """While this is entered, a block is being timed: the listener must not use the CPU."""

    def close(self) -> None:
        """Nothing follows. May be called more than once."""


def phases_of(label: str, listener: Listener) -> Callable[[str], None]:
    """A function that tells `listener` the text of each phase of `label`."""
    return lambda text: listener.hear(PhaseBegan(label, text))
