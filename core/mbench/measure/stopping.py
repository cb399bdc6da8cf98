"""Decides when a comparison has been measured enough: by width and budget, never by a winner."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import harmonic_mean
from types import MappingProxyType
from typing import TYPE_CHECKING

from mbench.console import counted
from mbench.spec.adaptive import MORE_SETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.spec.adaptive import Adaptive
    from mbench.stats import Scatter

__all__ = ["Rates", "narrow_enough", "reason_to_stop", "too_small", "widths"]

Rates = dict[int, dict[int, dict[int, float]]]
"""case -> process -> round -> samples per second, as far as a comparison has been measured."""


def widths(
    rates: Mapping[int, Mapping[int, Mapping[int, float]]],
    *,
    cases: Sequence[int],
    sets: int,
    calibrated: Mapping[int, Sequence[float]] = MappingProxyType({}),
) -> list[float | None]:
    """How wide the widest interval was after each of the first `sets` sets.

    That is the largest relative half-width of the ratios of any two of `cases`, or where there
    is one case only, that of its throughput. None where an interval was still missing.
    `calibrated` are ratios of identical processes, by case.
    """
    from mbench.stats import known_scatter

    known = {
        pair: known_scatter([calibrated[case] for case in pair if case in calibrated])
        for pair in combinations(cases, 2)
    }
    found = []
    for made in range(1, sets + 1):
        until_then = {
            case: {process: rounds for process, rounds in rates.get(case, {}).items()
                   if process < made}
            for case in cases
        }  # fmt: skip
        found.append(_widest(until_then, known))
    return found


def _widest(
    rates: Mapping[int, Mapping[int, Mapping[int, float]]],
    known: Mapping[tuple[int, int], Scatter | None],
) -> float | None:
    from mbench import stats

    level = stats.STOPPED_CONFIDENCE
    intervals: list[stats.Interval | None] = []
    if known:
        for (one, other), scatter in known.items():
            found = stats.ratio(rates[one], rates[other], known=scatter)
            intervals.append(found.interval(level) if found else None)
    else:  # a process's blocks have the same number of steps
        (only,) = rates.values()
        values = [harmonic_mean(rounds.values()) for rounds in only.values()]
        intervals.append(stats.geometric_interval(values, confidence=level) if values else None)
    ends = [i.half_width for i in intervals if i is not None and i.half_width is not None]
    return max(ends) if len(ends) == len(intervals) else None


def narrow_enough(widths: Sequence[float | None], *, goal: float, fewest: int) -> bool:
    """Whether the last of the `widths` is within the goal, which was first reached a while ago.

    The first `fewest` sets are made in any case.
    """
    narrow = [
        made
        for made, width in enumerate(widths, 1)
        if made >= fewest and width is not None and width <= goal
    ]
    return bool(narrow) and narrow[0] + MORE_SETS <= narrow[-1] == len(widths)


def reason_to_stop(
    protocol: Adaptive,
    *,
    measured: int,
    elapsed_seconds: float,
    least_seconds: float,
    widths: Sequence[float | None],
) -> str:
    """Why no set is begun after `measured` of them; empty if one is.

    `least_seconds` is what the last set took at least, with the fewest rounds; `widths` are those
    after each set, and are needed where one is the goal. Where 1 lies is never asked: who stops as
    soon as a winner shows finds one where there is none.
    """
    goal, most, reached = protocol.half_width_goal, protocol.processes, ""
    if goal is not None:
        most = protocol.most_processes
        if widths and (width := widths[-1]) is not None:
            reached = (
                f", intervals within ±{100 * width:.2g} % where ±{100 * goal:.2g} % was asked for"
            )
        if narrow_enough(widths, goal=goal, fewest=protocol.processes):
            return f"as narrow as asked for{reached}"
    if measured >= most:
        return f"all processes measured{reached}"
    if measured and elapsed_seconds + least_seconds > protocol.budget_seconds:
        return f"budget of {protocol.budget_seconds:g} s spent{reached}"
    return ""


def too_small(
    protocol: Adaptive, *, workers: int, warm: int, elapsed_seconds: float, round_seconds: float
) -> str:
    """Why the budget does not hold one round, and what would; empty if it does.

    `warm` of the `workers` of the first set are warm after `elapsed_seconds`; one block of each
    takes `round_seconds` together.
    """
    if not warm or elapsed_seconds + round_seconds <= protocol.budget_seconds:
        return ""
    share = workers / warm
    rounds = protocol.rounds or protocol.fewest_rounds
    one = math.ceil((elapsed_seconds + round_seconds) * share)
    whole = math.ceil((elapsed_seconds + rounds * round_seconds) * share * protocol.processes)
    return (
        f"the budget of {protocol.budget_seconds:g} s is too small for one round: {warm} of "
        f"{workers} workers were warm after {elapsed_seconds:.0f} s; give --budget {one} for one "
        f"round, or {whole} for "
        f"{counted(protocol.processes, 'process')} of {counted(rounds, 'round')}"
    )
