"""Slowdowns and lists of nodes in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mbench.console import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mbench.fleet.judge import Judged

__all__ = ["interval", "percentage", "shares", "short", "slowdown", "texts_of"]

NAMED = 8
"""Most nodes that a sentence names."""
LONGEST_NAME = 64


def percentage(share: float) -> str:
    """A share with the digits that matter: 5.1 %, 0.4 %, 34 %."""
    value = 100 * share
    return f"{value:.0f} %" if abs(value) >= 20 else f"{value:.1f} %"


def slowdown(gap: float) -> str:
    """How far a value is below or above another, by the difference of their logarithms."""
    where = "below" if gap <= 0 else "above"
    return f"{percentage(abs(math.expm1(gap)))} {where}"


def interval(low: float, high: float) -> str:
    """Ends of an interval of slowdowns, as shares."""
    return f"{percentage(low).removesuffix(' %')} to {percentage(high)}"


def shares(one: Judged) -> str:
    """How far a node is from the others, with its interval."""
    ends = [-math.expm1(one.high), -math.expm1(one.low)]
    where = "below"
    if one.gap > 0:
        ends, where = [-ends[1], -ends[0]], "above"
    return f"{percentage(abs(math.expm1(one.gap)))} ({interval(*ends)}) {where}"


def texts_of(names: Sequence[str]) -> str:
    """The names of the nodes, at most a few."""
    shown = [short(name) for name in names[:NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {counted(more, 'other')}" if more else "")


def short(name: str) -> str:
    """A name that neither controls a terminal nor fills it."""
    text = printable(name) or "?"
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 3] + "..."
