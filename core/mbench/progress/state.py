"""The state of a run as its events leave it: what is being done, and how long it may go on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.console import span
from mbench.measure.activity import (
    BlockBegan,
    BlockEnded,
    CaseStopped,
    ComparisonBegan,
    MeasuringBegan,
    PhaseBegan,
    ProcessBegan,
    RunPlanned,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mbench.measure.activity import Activity

__all__ = ["ProgressState", "Row"]


@dataclass
class Row:
    """One label of a comparison."""

    phase: str = "waiting"
    since: float = 0.0
    over: bool = True
    """Whether the phase is an end, and not something that takes time."""
    rate: float | None = None
    timed: bool = False


@dataclass
class ProgressState:
    """The comparisons of a run, the processes of each, and the clock."""

    clock: Callable[[], float] = time.monotonic
    rows: dict[str, Row] = field(default_factory=dict)
    title: str = ""
    number: int = 0
    """Of the comparison, from 1."""
    planned: tuple[float | None, ...] = ()
    """Seconds that each comparison is expected to take, where known."""
    process: int = 0
    """Of the comparison's fresh processes, from 1."""
    processes: int | None = None
    """None: precision decides."""
    budget_seconds: float | None = None
    """Of the comparison."""
    began_measuring: float | None = None
    first_process: int = 1
    took: list[float] = field(default_factory=list)
    """Seconds of each comparison that has ended."""

    def __post_init__(self) -> None:
        self.begin = self.began_comparison = self.clock()

    def hear(self, activity: Activity) -> None:
        match activity:
            case RunPlanned():
                self.planned = activity.seconds
            case ComparisonBegan():
                self.begin_comparison(activity)
            case MeasuringBegan():
                self.processes, self.budget_seconds = activity.processes, activity.budget_seconds
                self.began_measuring = self.clock()
            case ProcessBegan():
                if not self.process:  # a run that is resumed has measured those before
                    self.first_process = activity.number
                self.process = activity.number
            case PhaseBegan():
                self.enter(activity.label, activity.text, over=activity.over)
            case BlockBegan(unit="round"):
                text = f"measuring, round {activity.done + 1} of {activity.of}"
                self.enter(activity.label, text, timed=True)
            case BlockBegan():
                text = f"measuring, {activity.done} of {activity.of} {activity.unit}s"
                self.enter(activity.label, text, timed=True)
            case BlockEnded():
                self.enter(activity.label, "paused", over=True)
                self.row(activity.label).rate = activity.samples_per_second
            case CaseStopped():
                self.enter(activity.label, str(activity.end), over=True)

    def row(self, label: str) -> Row:
        return self.rows.setdefault(label, Row(since=self.clock()))

    def enter(self, label: str, phase: str, *, over: bool = False, timed: bool = False) -> None:
        row = self.row(label)
        if row.phase != phase:
            row.phase, row.since = phase, self.clock()
        row.over, row.timed = over, timed

    def begin_comparison(self, began: ComparisonBegan) -> None:
        now = self.clock()
        if self.number:
            self.took.append(now - self.began_comparison)
        self.number, self.title = self.number + 1, began.title
        self.began_comparison, self.began_measuring = now, None
        self.process, self.processes, self.budget_seconds = 0, None, None
        self.rows = {label: Row(since=now) for label in began.labels}

    def position(self) -> str:
        """Which comparison and which process this is."""
        parts = []
        if len(self.planned) > 1:
            parts.append(f"comparison {self.number} of {len(self.planned)}")
        if self.process:
            of = f" of {self.processes}" if self.processes else ""
            parts.append(f"process {self.process}{of}")
        return ", ".join(parts)

    def elapsed(self) -> float:
        return self.clock() - self.begin

    def measured(self) -> float:
        """Seconds that the measurement of this comparison has taken."""
        return 0.0 if self.began_measuring is None else self.clock() - self.began_measuring

    def left(self) -> float | None:
        """Seconds left, approximately; None where that is unknown.

        This comparison takes its budget or plan, less what was used of it, and no more than the
        remaining processes take at the pace of those before. Later ones take their plan, corrected
        by how long earlier ones took.
        """
        here = self.left_here()
        if here is None:
            return None
        to_come = list(self.planned[self.number :])
        known = [seconds for seconds in to_come if seconds is not None]
        if len(known) < len(to_come):
            return None
        return here + self.correction() * sum(known)

    def left_here(self) -> float | None:
        at = self.number - 1
        planned = self.planned[at] if 0 <= at < len(self.planned) else None
        total = self.budget_seconds or planned
        bounds = [] if total is None else [max(0.0, total - self.measured())]
        if self.processes and (made := self.process - self.first_process) > 0:
            each = self.measured() / (made + 0.5)  # the present one is half done, on average
            bounds.append(max(0.0, each * (self.processes - self.process + 0.5)))
        return min(bounds, default=None)

    def correction(self) -> float:
        """How many times their plan comparisons have taken, proofs included."""
        planned = [seconds for seconds in self.planned[: len(self.took)] if seconds]
        return sum(self.took) / sum(planned) if planned and len(planned) == len(self.took) else 1.0

    def times(self) -> str:
        """Time elapsed and left, in words."""
        text = f"{span(self.elapsed())} elapsed"
        if (left := self.left()) is not None:
            if self.began_measuring is None:  # environments and proofs come before it
                text += f", then about {span(left)} of measuring"
            else:
                text += f", {'at most' if self.processes is None else 'about'} {span(left)} left"
        return text
