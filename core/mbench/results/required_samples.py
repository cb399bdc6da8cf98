"""What it would take to know more than a comparison shows: the next command, and its price."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mbench import stats
from mbench.spec.adaptive import MORE_SETS

if TYPE_CHECKING:
    from mbench.spec.adaptive import Adaptive
    from mbench.stats import Interval

__all__ = ["next_step"]

WIDTHS = (0.05, 0.03, 0.02, 0.01, 0.005)
"""Half-widths that are worth a try, where none was asked for."""
LONGEST_SECONDS = 30 * 24 * 3600.0
LEEWAY = 1.1
"""Of a budget: sets do not all take the same time."""


def next_step(
    interval: Interval, *, protocol: Adaptive, set_seconds: float | None
) -> dict[str, Any] | None:
    """The half-width that could be had, in about how many seconds, by which options.

    Where there are too few pairs for an interval, it is those that are lacking, and no width. None
    where a set's duration is not known, where the width is what was asked for, and where it would
    take too long for anybody.
    """
    if set_seconds is None:
        return None
    half_width = goal(interval.half_width, protocol.half_width_goal)
    if interval.half_width is None:
        sets = stats.FEWEST
        options = f"--processes {sets}"
    elif half_width is None:
        return None
    else:
        pairs = stats.pairs_for(
            interval, half_width=half_width, confidence=stats.STOPPED_CONFIDENCE
        )
        if pairs is None:
            return None
        sets = max(pairs, protocol.processes) + MORE_SETS
        options = f"--until {100 * half_width:g}%"
        if sets > protocol.most_processes:
            options += f" --max-processes {sets}"
    seconds = sets * set_seconds
    if not 0 < seconds < LONGEST_SECONDS:
        return None
    budget = math.ceil(LEEWAY * seconds / 60) * 60
    return {
        "half_width": half_width,
        "seconds": seconds,
        "options": f"{options} --budget {budget}",
    }


def goal(half_width: float | None, asked: float | None) -> float | None:
    """What was asked for and not reached; else the first width at most half as wide."""
    if half_width is None:
        return None
    if asked is not None:
        return asked if half_width > asked else None
    return next((width for width in WIDTHS if width <= half_width / 2), None)
