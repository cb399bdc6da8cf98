"""A ratio and its replications: whether earlier runs agree with it, what all of them say together,
and what it would take to know more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mbench import stats
from mbench.contract.quantities import Count, Relative, Seconds
from mbench.spec.adaptive import MORE_SETS, Adaptive
from mbench.stats.intervals import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.results.events import PastRatio
    from mbench.stats import Interval

__all__ = ["WIDTHS", "EarlierRatio", "NextStep", "RatioOverRuns", "earlier_ratios", "next_step",
           "over_runs"]  # fmt: skip

WIDTHS = (0.05, 0.03, 0.02, 0.01, 0.005)
"""Half-widths that are worth trying, if none was asked for."""
LONGEST_SECONDS = 30 * 24 * 3600.0


@dataclass(frozen=True, kw_only=True)
class EarlierRatio:
    """What an earlier run on this machine said about the same two cases."""

    run: str
    """The run."""
    started: str
    """When it began: ISO 8601, UTC."""
    ratio: float
    """Its ratio."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end."""
    process_pairs: Count
    """Number of pairs behind its interval."""
    contradicts: bool
    """Whether its interval and this run's do not overlap."""


@dataclass(frozen=True, kw_only=True)
class RatioOverRuns:
    """The ratio over several runs, each of which is one replicate."""

    ratio: float
    """The ratio."""
    low: float | None
    """Lower end of its 95 % interval."""
    high: float | None
    """Upper end."""
    runs: Count
    """Number of runs."""

    def agrees_with(self, verdict: str) -> bool:
        """Whether all runs together name the same winner as a verdict of `faster` or `slower`."""
        if self.low is None or self.high is None:
            return False
        return self.low > 1 if verdict == "faster" else self.high < 1


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """What it would take to know more."""

    half_width: Relative | None
    """Half-width that the interval would have; null if there are too few pairs for any."""
    process_pairs: Count
    """About how many further pairs that takes."""
    seconds: Seconds
    """About how long they would take."""
    options: str
    """The options of `mbench compare` that add them to this run."""

    @property
    def command(self) -> str:
        """What to type for it."""
        return f"mbench compare {self.options}"


def earlier_ratios(interval: Interval, past: Sequence[PastRatio]) -> list[EarlierRatio]:
    """Each of the `past` ratios, and whether its interval and this one exclude each other."""
    if interval.low is None or interval.high is None:
        return []
    return [
        EarlierRatio(
            run=one.run,
            started=one.started,
            ratio=one.ratio,
            low=one.low,
            high=one.high,
            process_pairs=one.process_pairs,
            contradicts=one.high < interval.low or one.low > interval.high,
        )
        for one in past
    ]


def over_runs(interval: Interval, past: Sequence[PastRatio]) -> RatioOverRuns | None:
    """The ratio over this run and those in `past`; None if there are fewer than three.

    Effects that last for a whole run do not show in any run's interval, but in how much runs
    differ.
    """
    if interval.low is None or interval.high is None or len(past) + 1 < stats.FEWEST:
        return None
    errors = [error(interval.low, interval.high, interval.replicates)]
    errors += [error(one.low, one.high, one.process_pairs) for one in past]
    found = stats.geometric_interval(
        [interval.value, *(one.ratio for one in past)],
        within=stats.noise_within(errors, freedom=math.inf),
    )
    return RatioOverRuns(ratio=found.value, low=found.low, high=found.high, runs=found.replicates)


def error(low: float, high: float, pairs: int) -> float:
    """The approximate variance of the logarithm of a run's ratio, according to its own interval."""
    reach = math.log(high / low) / 2
    return (reach / quantile(max(1.0, pairs - 1.0), 0.5 + stats.CONFIDENCE / 2)) ** 2


def next_step(
    interval: Interval,
    *,
    protocol: Adaptive,
    set_seconds: float | None,
    run: str,
    wanted: float | None = None,
    usable: int | None = None,
    spoilt: int = 0,
) -> NextStep | None:
    """The half-width that further pairs could reach, in about how many seconds, with which options.
    The half-width is the one that is `wanted`, or one worth trying.

    If too few pairs are `usable` (those of the interval, unless given), the step is to add the
    missing pairs, without a width; `spoilt` pairs were made in vain. None if a set's duration is
    not known, if the width that was asked for was reached, if the step would take impractically
    long, or for explain's runs, which compare does not continue.
    """
    if set_seconds is None or protocol.name != Adaptive().name:
        return None
    half_width = wanted or goal(interval.half_width, protocol.half_width_goal)
    usable = interval.replicates if usable is None else usable
    made = usable + spoilt
    options = f"--resume {run}"
    if usable < stats.FEWEST:
        sets = stats.FEWEST + spoilt
        options += f" --processes {sets}" * (protocol.processes < sets or spoilt > 0)
    elif half_width is None:
        return None
    else:
        pairs = stats.pairs_for(
            interval, half_width=half_width, confidence=stats.STOPPED_CONFIDENCE
        )
        if pairs is None:
            return None
        sets = max(pairs + spoilt, protocol.processes, made) + MORE_SETS
        if half_width != protocol.half_width_goal:
            options += f" --until {100 * half_width:g}%"
        if sets > protocol.most_processes:
            options += f" --max-processes {sets}"
    seconds = (sets - made) * set_seconds
    if not 0 < seconds < LONGEST_SECONDS:
        return None
    return NextStep(
        half_width=half_width, process_pairs=sets - made, seconds=seconds, options=options
    )


def goal(half_width: float | None, asked: float | None) -> float | None:
    """The half-width that was asked for, if not reached; if none was, the first in WIDTHS that is
    at most half of the present one.
    """
    if half_width is None:
        return None
    if asked is not None:
        return asked if half_width > asked else None
    return next((width for width in WIDTHS if width <= half_width / 2), None)
