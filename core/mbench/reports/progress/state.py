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
    """Whether the phase is an end or a pause, and not work that takes time."""
    rate: float | None = None
    timed: bool = False


@dataclass
class ProgressState:
    """The comparisons of a run, the processes of each, and the clock."""

    clock: Callable[[], float] = time.monotonic
    rows: dict[str, Row] = field(default_factory=dict)
    title: str = ""
    number: int = 0
    """Number of the comparison, from 1."""
    planned: tuple[float | None, ...] = ()
    """Seconds that each comparison is expected to take, where known."""
    process: int = 0
    """Number of the comparison's present set of fresh processes, from 1."""
    processes: int | None = None
    """How many sets of fresh processes there will be; None if precision decides."""
    budget_seconds: float | None = None
    """Budget of the comparison."""
    fewest: int = 1
    """Processes that are started whatever the budget."""
    began_measuring: float | None = None
    began_process: float = 0.0
    began_rounds: float | None = None
    """When the rounds of the present processes began; None while these are set up."""
    began_round: float = 0.0
    rounds: tuple[int, int] = (0, 0)
    """Rounds of the present processes: how many have ended, and how many there are."""
    sets: list[tuple[float, float]] = field(default_factory=list)
    """Each set of the comparison's processes that ended: its seconds, and those of its rounds."""
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
                self.fewest, self.began_measuring = activity.fewest, self.clock()
            case ProcessBegan():
                self.begin_process(activity.number)
            case PhaseBegan():
                self.enter(activity.label, activity.text, over=activity.over)
            case BlockBegan(unit="round"):
                text = f"measuring, round {activity.done + 1} of {activity.of}"
                self.enter(activity.label, text, timed=True)
                self.begin_round(activity.done, activity.of)
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
        self.process, self.processes, self.budget_seconds, self.sets = 0, None, None, []
        self.rows = {label: Row(since=now) for label in began.labels}

    def begin_process(self, number: int) -> None:
        now = self.clock()
        if self.process:
            rounds = 0.0 if self.began_rounds is None else now - self.began_rounds
            self.sets.append((now - self.began_process, rounds))
        self.process, self.began_process, self.began_rounds = number, now, None

    def begin_round(self, done: int, of: int) -> None:
        if self.began_rounds is None or done != self.rounds[0]:
            self.began_round = self.clock()
        if self.began_rounds is None:
            self.began_rounds = self.began_round
        self.rounds = (done, of)

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
        """Seconds left, approximately; None if that is unknown.

        Later comparisons count with their planned time, corrected by how long earlier ones took.
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
        """Seconds left of this comparison: those of its present processes and of all that follow.

        Processes that have begun are measured to their end, whatever is left of the budget.
        """
        at = self.number - 1
        planned = self.planned[at] if 0 <= at < len(self.planned) else None
        total = self.budget_seconds or planned
        unspent = None if total is None else total - self.measured()
        present = self.left_of_processes()
        if present is None:  # nothing is known of them yet
            return None if unspent is None else max(0.0, unspent)
        if self.processes is None:
            return max(present, unspent or 0.0)
        each = self.seconds_of_processes(present)
        others = self.processes - self.process
        if unspent is not None:
            fitting = int(max(0.0, unspent - present) / each) if each else others
            others = min(others, max(fitting, self.fewest - self.process, 0))
        return present + others * each

    def is_bound(self) -> bool:
        """Whether the time left is that of the budget, of which not all may be needed."""
        unseen = self.left_of_processes() is None and self.fewest == 1 and not self.took
        return self.processes is None or (unseen and self.budget_seconds is not None)

    def left_of_processes(self) -> float | None:
        """Seconds that the present processes still take; None while those are the first and
        nothing is known of their rounds.
        """
        now = self.clock()
        done, of = self.rounds
        if self.process and self.began_rounds is not None and done:
            each = (self.began_round - self.began_rounds) / done
            return max(0.0, (of - done) * each - (now - self.began_round))
        if not self.sets:
            return None
        rounds = sum(rounds for _, rounds in self.sets) / len(self.sets)
        return max(self.mean_seconds() - (now - self.began_process), rounds)

    def seconds_of_processes(self, present: float) -> float:
        """Seconds of each set of processes: the mean of those that ended, else what the present
        ones are going to have taken.
        """
        return self.mean_seconds() if self.sets else self.clock() - self.began_process + present

    def mean_seconds(self) -> float:
        """Mean seconds of the sets of processes that have ended."""
        return sum(seconds for seconds, _ in self.sets) / len(self.sets)

    def correction(self) -> float:
        """Time that comparisons took, proofs included, divided by the planned; 1 if unknown."""
        planned = [seconds for seconds in self.planned[: len(self.took)] if seconds]
        return sum(self.took) / sum(planned) if planned and len(planned) == len(self.took) else 1.0

    def times(self) -> str:
        """Time elapsed and left, in words."""
        text = f"{span(self.elapsed())} elapsed"
        if (left := self.left()) is not None:
            if self.began_measuring is None:  # environments and proofs come before it
                text += f", then about {span(left)} of measuring"
            else:
                text += f", {'at most' if self.is_bound() else 'about'} {span(left)} left"
        return text
