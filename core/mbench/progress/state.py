"""Where a run stands: what is being done, for how long, and about how long it will go on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mbench.spec.estimate import span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ProgressState", "Row"]


@dataclass
class Row:
    """What one label of a comparison is doing, and since when."""

    phase: str = "waiting"
    since: float = 0.0
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
    planned: Sequence[float | None] = ()
    """Seconds that each comparison is expected to take, as far as that is known."""
    process: int = 0
    """Of the comparison's fresh processes, from 1."""
    processes: int | None = None
    """None: as many as it takes."""
    budget_seconds: float | None = None
    """Of the comparison."""

    def __post_init__(self) -> None:
        self.begin = self.began_comparison = self.clock()
        self.began_measuring: float | None = None
        self.first_process = 1
        self.took: list[float] = []
        """Seconds of each comparison that has ended."""

    def row(self, label: str) -> Row:
        return self.rows.setdefault(label, Row(since=self.clock()))

    def comparison(self, title: str, labels: Sequence[str]) -> None:
        now = self.clock()
        if self.number:
            self.took.append(now - self.began_comparison)
        self.number, self.title = self.number + 1, title
        self.began_comparison, self.began_measuring = now, None
        self.process, self.processes, self.budget_seconds = 0, None, None
        self.rows = {label: Row(since=now) for label in labels}

    def measuring(self, processes: int | None, budget_seconds: float | None) -> None:
        self.processes, self.budget_seconds = processes, budget_seconds
        self.began_measuring = self.clock()

    def begin_process(self, number: int) -> None:
        if not self.process:  # of a run that is resumed, the first ones are there
            self.first_process = number
        self.process = number

    def place(self) -> str:
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
        """Seconds that are left, about; None where that cannot be told.

        Of this comparison it is its budget or its plan, less what was used of it, and no more than
        the processes that are left would take at the pace of those that were made. Of those to
        come it is their plan, corrected by how long the others took.
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
            each = self.measured() / (made + 0.5)  # of which half of the present one, on average
            bounds.append(max(0.0, each * (self.processes - self.process + 0.5)))
        return min(bounds, default=None)

    def correction(self) -> float:
        """How much longer than planned comparisons have taken, proofs and all."""
        planned = [seconds for seconds in self.planned[: len(self.took)] if seconds]
        return sum(self.took) / sum(planned) if planned and len(planned) == len(self.took) else 1.0

    def times(self) -> str:
        """What has passed and what is left, in words."""
        said = f"{span(self.elapsed())} elapsed"
        if (left := self.left()) is not None:
            if self.began_measuring is None:  # environments and proofs come before it
                said += f", then about {span(left)} of measuring"
            else:
                said += f", {'at most' if self.processes is None else 'about'} {span(left)} left"
        return said
