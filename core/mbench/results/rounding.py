"""How far rounding carries a case, as seen from nudged starts, and the gates that follow."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from mbench.contract.precision import PRECISIONS
from mbench.results.changes import BEGUN
from mbench.results.evidence import SIZE, Rounding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.results.evidence import Gates
    from mbench.results.records import CaseRecord

__all__ = ["Limits", "rounding_after"]

KINDS = ("answers", "norm", "tensor", "direction", "statistics")


class Limits:
    """Gates for the difference between two cases, by the number of steps.

    The gates of the less precise case are widened by the measured effect of rounding, multiplied by
    `times`. With `farthest`, they are so wide that rounding cannot explain what lies beyond.
    """

    def __init__(
        self,
        baseline: CaseRecord,
        other: CaseRecord,
        *,
        farthest: bool = False,
        times: float = 1.0,
    ) -> None:
        self.pair, self.farthest, self.times = (baseline, other), farthest, times
        self._gates = baseline.planned.gates.wider(other.planned.gates)
        self._known: dict[int, Gates] = {}

    @property
    def rounds(self) -> bool:
        """Whether the effect of rounding was measured for both."""
        return rounding_of(*self.pair, BEGUN) is not None

    def after(self, step: int) -> Gates:
        """The gates for what `step` steps left."""
        step = max(step, BEGUN)
        if step not in self._known:
            found, by = self._gates, rounding_of(*self.pair, step)
            if by is not None:
                by = by.times(self.times)
                found = found.hidden(by) if self.farthest else found.loosened(by)
            self._known[step] = found
        return self._known[step]


def rounding_of(baseline: CaseRecord, other: CaseRecord, step: int) -> Rounding | None:
    """The smaller rounding of both cases, so that neither gains; with two precisions, that of the
    coarser. None if either is not known.
    """
    one, two = rounding_after(baseline, step), rounding_after(other, step)
    if one is None or two is None:
        return None
    units = [PRECISIONS[case.planned.axes.precision].unit for case in (baseline, other)]
    if units[0] != units[1]:
        return one if units[0] > units[1] else two
    return one.lesser(two)


def rounding_after(case: CaseRecord, step: int) -> Rounding | None:
    """How far rounding carries a case in `step` steps: the root mean square over all nudges.

    Beyond the steps that were measured, it is taken to grow in proportion to their number. None if
    nothing was measured.
    """
    measured = sorted({one.step for one in case.nudges})
    if not measured:
        return None
    known = next((one for one in measured if one >= step), measured[-1])
    found = together([one for one in case.nudges if one.step == known])
    return found.later(step) if step > known else found


def together(nudges: Sequence[Rounding]) -> Rounding:
    """The root mean square of each value. Two changes may be equally long by chance, so their norms
    count as a share of their distance at least.
    """
    sizes = {kind: math.sqrt(fmean(getattr(one, kind) ** 2 for one in nudges)) for kind in KINDS}
    sizes["norm"] = max(sizes["norm"], SIZE * sizes["direction"])
    grid = max(one.grid for one in nudges)
    return Rounding(**sizes, grid=grid, step=nudges[0].step)
