"""The cases of a run, with what several of their figures need: each fact is computed once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from mbench.contract.metric import THROUGHPUT
from mbench.results.ceiling import Peaks
from mbench.results.conduct import Usual, misconduct, unchecked, usual
from mbench.results.figures import TimedSteps, facts_of, timed_rounds
from mbench.results.machine import disturbances, usual_paces
from mbench.results.validity import MOST_MFU, implausible, share_of_peak, unlikeness

if TYPE_CHECKING:
    from mbench.contract.metric import Metric, Timed
    from mbench.machine.disturbances import Disturbance
    from mbench.results.machine import UsualPaces
    from mbench.results.records import CaseRecord, Run

Rounds = Mapping[int, Mapping[int, "Timed"]]

__all__ = ["Examined", "examine"]


class Together:
    """Facts that depend on all cases of a run."""

    def __init__(self, run: Run) -> None:
        self.run, self.peaks = run, Peaks(run)
        self._paces: dict[int, UsualPaces] = {}
        self._usual: dict[int, dict[str, Usual]] = {}

    def paces(self, comparison: int) -> UsualPaces:
        if comparison not in self._paces:
            self._paces[comparison] = usual_paces(self.run.cases_of(comparison))
        return self._paces[comparison]

    def usual(self, comparison: int) -> dict[str, Usual]:
        """What each framework takes outside its blocks."""
        if comparison not in self._usual:
            self._usual[comparison] = usual(self.run.cases_of(comparison))
        return self._usual[comparison]


class Examined:
    """A case of a run with what both its summary and its comparisons need, each computed once."""

    def __init__(self, together: Together, record: CaseRecord, position: int) -> None:
        self.run, self.record, self.position = together.run, record, position
        self._together = together
        self._rounds: dict[bool, Rounds] = {}
        self._steps: dict[str, TimedSteps] = {}

    @property
    def label(self) -> str:
        return self.record.planned.label

    @property
    def peaks(self) -> Peaks:
        return self._together.peaks

    def steps(self, metric: Metric) -> TimedSteps:
        """The steps from which a metric of the case is computed."""
        if metric.each not in self._rounds:
            self._rounds[metric.each] = timed_rounds(self.record, each=metric.each)
        if metric.name not in self._steps:
            rounds = self._rounds[metric.each]
            self._steps[metric.name] = TimedSteps(metric, facts_of(self.record), rounds)
        return self._steps[metric.name]

    @cached_property
    def peak(self) -> float | None:
        """FLOPs per second that the machine's matrix products reached. If the case exceeds that,
        other load may have slowed only the products: it is then what they would have reached
        without that load.
        """
        case, found = self.record, self.peaks.products(self.record)
        share = share_of_peak(case, self.steps(THROUGHPUT), highest=found)
        return self.peaks.unhindered(case) if share > MOST_MFU else found

    @cached_property
    def disturbances(self) -> list[Disturbance]:
        paces = self._together.paces(self.record.planned.comparison)
        return disturbances(self.run, self.record, paces)

    @cached_property
    def _unlikeness(self) -> tuple[list[str], list[str]]:
        return unlikeness(self.record, self.record)

    @cached_property
    def doubts(self) -> list[str]:
        """What speaks against the case's work, apart from how its results differ from others'."""
        case, steps = self.record, self.steps(THROUGHPUT)
        found = implausible(case, steps, highest=self.peak)
        forged = self.peaks.doubt(case)
        return [
            *found,
            *([f"{self.label}: {forged}"] if forged else []),
            *misconduct(case, self._together.usual(case.planned.comparison)),
            *self._unlikeness[0],
        ]

    @cached_property
    def unchecked(self) -> list[str]:
        """What could not be checked about the case's time and speed."""
        return list(unchecked(self.record, highest=self.peak))

    @property
    def blurs(self) -> list[str]:
        """What rounding may hide about the case's work."""
        return self._unlikeness[1]


def examine(run: Run) -> dict[int, Examined]:
    """All cases of a run by number."""
    together = Together(run)
    return {
        number: Examined(together, run.cases[number], position)
        for position, number in enumerate(sorted(run.cases))
    }
