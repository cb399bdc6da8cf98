"""Decides when a comparison has been measured enough: by width and budget, never by a winner."""

from __future__ import annotations

import math
from statistics import harmonic_mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mbench.harness.protocol import Protocol

__all__ = ["Rates", "reason_to_stop", "too_small", "widest"]

Rates = dict[int, dict[int, dict[int, float]]]
"""case -> process -> round -> samples per second, as far as a comparison has been measured."""


def widest(
    rates: Mapping[int, Mapping[int, Mapping[int, float]]], *, cases: Sequence[int]
) -> float | None:
    """The largest relative half-width of the ratios to the first of `cases`.

    Where there is one case only, that of its throughput. None where an interval is still missing.
    """
    from mbench import stats

    baseline, *others = (rates.get(case, {}) for case in cases)
    if others:
        intervals = [stats.ratio(baseline, other) for other in others]
    else:  # a process's blocks have the same number of steps
        values = [harmonic_mean(rounds.values()) for rounds in baseline.values()]
        intervals = [stats.geometric_interval(values) if values else None]
    widths = [interval.half_width if interval else None for interval in intervals]
    known = [width for width in widths if width is not None]
    return max(known) if len(known) == len(widths) else None


def reason_to_stop(
    protocol: Protocol,
    *,
    measured: int,
    elapsed_seconds: float,
    set_seconds: float,
    width: float | None,
) -> str:
    """Why no set is begun after `measured` of them; empty if one is.

    `set_seconds` is the longest that a set has taken, `width` the widest interval so far. Where 1
    lies is never asked: who stops as soon as a winner shows finds one where there is none.
    """
    goal, most, reached = protocol.half_width_goal, protocol.processes, ""
    if goal is not None:
        most = protocol.most_processes
        if width is not None:
            reached = (
                f", intervals within ±{100 * width:.2g} % where ±{100 * goal:.2g} % was asked for"
            )
        if width is not None and width <= goal and measured >= protocol.processes:
            return f"as narrow as asked for{reached}"
    if measured >= most:
        return f"all processes measured{reached}"
    if measured and elapsed_seconds + set_seconds > protocol.budget_seconds:
        return f"budget of {protocol.budget_seconds:g} s spent{reached}"
    return ""


def too_small(
    protocol: Protocol, *, workers: int, warm: int, elapsed_seconds: float, round_seconds: float
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
        f"round, or {whole} for {protocol.processes} processes of {rounds} rounds"
    )
