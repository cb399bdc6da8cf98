"""How far builds of the same two processes lie apart: the level between rounds and processes."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING

from mbench.stats.intervals import stdev
from mbench.stats.pairs import pair_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["between_builds"]


def between_builds(
    baseline: Mapping[int, Mapping[int, float]],
    other: Mapping[int, Mapping[int, float]],
    *,
    begins: Mapping[int, Sequence[int]],
) -> float | None:
    """The standard deviation of the log ratio from build to build of a pair, noise of rounds in it.

    `baseline` and `other` map process -> round -> throughput, `begins` gives the first round of
    each build but the first. Processes do not count: what differs between them is taken out. None
    where no pair has two builds.
    """
    squares, freedom = 0.0, 0
    for process in baseline.keys() & other.keys():
        parts: dict[int, list[int]] = {}
        for at in sorted(baseline[process].keys() & other[process].keys()):
            parts.setdefault(bisect_right(begins.get(process, ()), at), []).append(at)
        logs = []
        for rounds in parts.values():
            pair = pair_of(
                *({at: side[process][at] for at in rounds} for side in (baseline, other))
            )
            logs += [math.log(pair.total)] if pair else []
        if len(logs) > 1:
            squares += (len(logs) - 1) * stdev(logs) ** 2
            freedom += len(logs) - 1
    return math.sqrt(squares / freedom) if freedom else None
