"""The stopping rule: when a comparison has been measured enough, by width and budget."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import fmean, harmonic_mean, variance
from types import MappingProxyType
from typing import TYPE_CHECKING

from mbench.console import counted, span
from mbench.spec.adaptive import MORE_SETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.spec.adaptive import Adaptive
    from mbench.stats import Scatter

__all__ = [
    "Rates",
    "exceeded",
    "narrow_enough",
    "reason_to_stop",
    "too_small",
    "variances",
    "widths",
    "worthwhile_rounds",
]


COMPLETE = ("all processes measured", "as narrow as requested")
"""How the reason begins if nothing was left out."""
LEEWAY = 1.05
"""A comparison may take this many times its budget before its reason says so."""
LONGEST = 3
"""If several sets are always measured and the first round takes more than this many budgets, the
comparison ends: the budget is a mistake."""
Rates = dict[int, dict[int, dict[int, float]]]
"""case -> process -> round -> samples per second, as measured so far."""


def widths(
    rates: Mapping[int, Mapping[int, Mapping[int, float]]],
    *,
    cases: Sequence[int],
    sets: int,
    calibrated: Mapping[int, Sequence[float]] = MappingProxyType({}),
) -> list[float | None]:
    """The width of the widest interval after each of the first `sets` sets.

    It is the largest relative half-width of the ratio of any two of `cases`; for a single case,
    that of its throughput. None while an interval is missing.
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
    """Whether the last of the `widths` is within the goal, which was first reached at
    least MORE_SETS sets earlier. The first `fewest` sets are always made.
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
    """Why no set follows after `measured` of them; empty if one does.

    `least_seconds` is how long the last set would have taken with the fewest rounds. `widths` has a
    value for each set, and is needed only if a width is the goal. Whether an interval leaves out 1
    never counts: stopping as soon as there is a winner finds winners where there are none.
    """
    goal, most, reached = protocol.half_width_goal, protocol.processes, ""
    if goal is not None:
        most = protocol.most_processes
        if widths and (width := widths[-1]) is not None:
            reached = (
                f", intervals within ±{100 * width:.2g} % where ±{100 * goal:.2g} % was requested"
            )
        if narrow_enough(widths, goal=goal, fewest=protocol.processes):
            return f"as narrow as requested{reached}"
    if measured >= most:
        return f"all processes measured{reached}"
    over = elapsed_seconds + least_seconds - protocol.budget_seconds
    if not measured or measured < protocol.fewest_processes or over <= 0:
        return ""
    if elapsed_seconds >= protocol.budget_seconds:
        return f"budget of {protocol.budget_seconds:g} s spent{reached}"
    return (
        f"another set of processes, about {span(least_seconds)}, did not fit into the "
        f"{protocol.budget_seconds:g} s{reached}"
    )


def exceeded(protocol: Adaptive, reason: str, *, elapsed_seconds: float, cut_short: bool) -> str:
    """`reason`, and how the budget affected a comparison that still ran all its sets."""
    if not reason.startswith(COMPLETE):
        return reason
    if elapsed_seconds > LEEWAY * protocol.budget_seconds:
        took = f"took {elapsed_seconds:.0f} s, longer than the {protocol.budget_seconds:g} s"
        return f"{reason}, which {took} planned"
    if cut_short:
        return f"{reason}, rounds cut short by the budget of {protocol.budget_seconds:g} s"
    return reason


def too_small(
    protocol: Adaptive, *, workers: int, warm: int, elapsed_seconds: float, round_seconds: float
) -> str:
    """Why the budget is too small for one round, and what would be enough; empty if it is enough.

    `warm` of the `workers` of the first set are warm after `elapsed_seconds`; a block of each takes
    `round_seconds` in all. Once all are warm, a round that fits the budget by itself is measured:
    to have waited in vain would be worse than taking longer.
    """
    if warm == workers and round_seconds <= protocol.budget_seconds:
        return ""
    most = protocol.budget_seconds * (LONGEST if protocol.fewest_processes > 1 else 1)
    if not warm or elapsed_seconds + round_seconds <= most:
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


def variances(
    baseline: Mapping[int, Mapping[int, float]], other: Mapping[int, Mapping[int, float]]
) -> tuple[float, float] | None:
    """(W, B): n rounds leave a variance of W / n in a pair's log ratio, and pairs vary by B.

    `baseline` and `other` map process -> round -> throughput. B is the observed variance between
    pairs less the part due to rounds, at least 0. None before two pairs have two rounds each.
    """
    from mbench.stats import pairs_of

    pairs = [pair for pair in pairs_of(baseline, other) if pair.rounds > 1]
    if len(pairs) < 2:
        return None
    within = fmean(pair.rounds * pair.error for pair in pairs)
    between = variance([math.log(pair.total) for pair in pairs])
    return within, max(0.0, between - fmean(pair.error for pair in pairs))


def worthwhile_rounds(
    rates: Rates, *, cases: Sequence[int], setup_seconds: float, round_seconds: float
) -> float | None:
    """How many rounds a set should have for the narrowest interval in a given time.

    A set costs setup_seconds + n * round_seconds and leaves a variance of between + within /
    n; the product is smallest at n = sqrt(setup / round * within / between) (Cochran 1977, Sampling
    Techniques, 10.6: two-stage sampling). Of several ratios, the one with the most rounds counts.
    None before there is enough data; infinite if pairs do not vary.
    """
    baseline, *others = (rates.get(case, {}) for case in cases)
    found = [pair for other in others if (pair := variances(baseline, other)) is not None]
    if not found or len(found) < len(others):
        return None
    return max(
        math.sqrt(setup_seconds / round_seconds * within / between) if between > 0 else math.inf
        for within, between in found
    )
