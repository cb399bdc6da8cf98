"""What intervals show, and which verdicts of one run hold together."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from mbench.stats.intervals import CONFIDENCE, FEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.stats.intervals import Interval
    from mbench.stats.pairs import Ratio

__all__ = ["ALIKE", "VERDICTS", "together", "verdict", "verdicts"]

ALIKE = 0.03
"""Frameworks whose whole interval is this close to 1 are called alike: these are two one-sided
tests at 2.5 % each (Schuirmann 1987)."""
VERDICTS = ("faster", "slower", "alike", "no difference shown", "depends on stalls",
            "undetermined")  # fmt: skip


def verdict(interval: Interval) -> str:
    """What the interval shows by itself: a winner only if it excludes 1."""
    if interval.low is None or interval.high is None:
        return "undetermined"
    if interval.low > 1:
        return "faster"
    if interval.high < 1:
        return "slower"
    alike = interval.low >= 1 / (1 + ALIKE) and interval.high <= 1 + ALIKE
    return "alike" if alike else "no difference shown"


def verdicts(ratios: Sequence[Ratio], *, confidence: float = CONFIDENCE) -> list[str]:
    """Verdicts on all ratios of a run: a winner is named only if it holds together with all others.

    A ratio whose interval shows a winner by itself, but not among so many, is undetermined.
    """
    sure = together(ratios, confidence=confidence)
    found = []
    for at, ratio in enumerate(ratios):
        interval = ratio.interval(confidence)
        said = verdict(interval)
        if ratio.depends_on_stalls(interval):
            said = "depends on stalls"
        elif said in ("faster", "slower") and at not in sure:
            said = "undetermined"
        found.append(said)
    return found


def together(ratios: Sequence[Ratio], *, confidence: float = CONFIDENCE) -> set[int]:
    """Positions of ratios that differ from 1; with that confidence, none of them is wrong.

    Holm's procedure (1979), with intervals in place of p-values: the allowed error is divided among
    all ratios that are not yet shown to differ.
    """
    judged = [at for at, ratio in enumerate(ratios) if len(ratio.pairs) >= FEWEST]
    most = {at: most_beside(ratios[at], len(judged), confidence) for at in judged}
    shown: set[int] = set()
    for at in sorted(judged, key=lambda at: -most[at]):
        if most[at] < len(judged) - len(shown):
            break
        shown.add(at)
    return shown


def most_beside(ratio: Ratio, count: int, confidence: float) -> int:
    """The most ratios, up to `count`, among which this one still differs from 1 significantly; 0 if
    it never does.
    """

    def shown(among: int) -> bool:
        return ratio.interval(1 - (1 - confidence) / among).leaves_out(1)

    if shown(count):
        return count
    return bisect_left(range(1, count), True, key=lambda among: not shown(among))
