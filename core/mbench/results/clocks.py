"""What speaks against the time that a worker reports for its blocks."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mbench.results.events import Block, Evidence
    from mbench.results.records import CaseRecord

__all__ = ["FEWEST_BLOCKS", "beyond", "blocks", "fixed", "merged", "misread", "most_left"]

FEWEST_BLOCKS = 8
"""Blocks needed to judge a clock: seven of eight must speak against it, since other load delays
some."""
CLOCK = (0.05, 0.02)
"""Share of a block's own time, and seconds, that the parent may wait beyond it, for messages and
for garbage collection. Seen for the least late eighth of blocks: 9 ms with ten processes per core;
1 ms when idle."""
LEFT = (0.2, 0.05)
"""The same for how much longer a look after a few products may take than an idle worker's."""
ONE_BY_ONE = (2.0, 0.0002)
"""The same for how much longer than its share of a block a step may take if each step is waited
for. A step is work of the host and of the device: overlapped, they take as long as the longer one;
one after the other, as long as both."""
ONE_BY_ONE_LONG = (0.5, 0.05)
"""The same if steps are long: the host's part of a step is then small. If every other step is
skipped, a single step takes longer by its whole share of the block."""

ONE_BY_ONE_WARM = (0.75, 0.01)
"""The same for the last steps of a warm-up, which are waited for one by one if they take 0.1 s or
longer. The quickest of them counts. Cores that neighbours slow to 0.6 of their speed for minutes
raise no suspicion."""


FIXED, ERRORS = (0.2, 0.02), 6.0
"""Share of a block, and seconds, that may be independent of its number of steps, and how many
standard errors it takes to be sure."""


def blocks(case: CaseRecord) -> Iterator[tuple[Block, Evidence]]:
    """Blocks that were timed whole, in processes that ran to their end."""
    for process in case.processes.values():
        if process.idle_look is None:
            continue  # it was cut short
        for block, seen in process.evidence:
            if not block.each:
                yield block, seen


def beyond(
    pairs: Iterable[tuple[float, float]], gate: tuple[float, float]
) -> tuple[float, float] | None:
    """Own and other seconds of a block whose other seconds are too many for `gate`, if that is true
    of seven of eight blocks; else None.

    `pairs` holds each block's own seconds and its other seconds.
    """
    share, slack = gate
    ordered = sorted(pairs, key=lambda pair: pair[1] - share * pair[0])
    if len(ordered) < FEWEST_BLOCKS:
        return None
    own, other = ordered[len(ordered) // 8]
    return (own, other) if other > share * own + slack else None


def misread(case: CaseRecord) -> str:
    """Whether the worker's clock runs slow compared with the parent's."""
    pairs = (
        (sum(block.nanoseconds) * (1 + seen.lead / block.steps) / 1e9, seen.waited / 1e9)
        for block, seen in blocks(case)
    )  # lead-in steps are not timed: they take as long as the others, if its clock is right
    found = beyond(((own, waited - own) for own, waited in pairs), CLOCK)
    return f"it says {found[0]:.3g} s where {sum(found):.3g} s passed" if found else ""


def most_left(seconds: float) -> float:
    """How many seconds longer than an idle worker's a look may take after a block of `seconds`."""
    share, slack = LEFT
    return share * seconds + slack


def fixed(case: CaseRecord) -> str:
    """Whether part of a block's time is the same however many steps it has. If so, not all steps
    cost what is claimed. This uses the slope of blocks' times over their steps, each relative to
    the mean of its process; several processes share one slope.
    """
    points: list[tuple[float, float]] = []
    seconds = []
    for process in case.processes.values():
        found = [(b.steps, sum(b.nanoseconds) / 1e9) for b in process.blocks if not b.each]
        if len(found) > 1:
            steps, mean = fmean(one for one, _ in found), fmean(one for _, one in found)
            points += [(count / steps - 1, own / mean - 1) for count, own in found]
            seconds.append(mean)
    moved = sum(x**2 for x, _ in points)
    freedom = len(points) - len(seconds) - 1
    if freedom < FEWEST_BLOCKS or not moved:
        return ""
    slope = sum(x * y for x, y in points) / moved
    error = math.sqrt(sum((y - slope * x) ** 2 for x, y in points) / freedom / moved)
    share, mean = 1 - slope, fmean(seconds)
    if share <= max(FIXED[0], ERRORS * error) or share * mean <= FIXED[1]:
        return ""
    return f"{share * mean:.2g} of {mean:.2g} s of a block do not depend on its number of steps"


def merged(case: CaseRecord) -> str:
    """Whether steps in a block take less time than single steps: then not all of them are run."""
    pairs = list(one_by_one(case))
    found = (
        beyond(pairs, ONE_BY_ONE)
        or beyond(pairs, ONE_BY_ONE_LONG)
        or beyond(one_by_one_warm(case), ONE_BY_ONE_WARM)
    )
    if not found:
        return ""
    return f"a step takes {found[0]:.3g} s in a block, but {sum(found):.3g} s on its own"


def one_by_one(case: CaseRecord) -> Iterator[tuple[float, float]]:
    """For each round, a step's seconds in the block, and how much longer a single step takes."""
    for process in case.processes.values():
        rounds = {(block.round, block.each): block for block in process.blocks}
        for (number, each), block in rounds.items():
            if each and (whole := rounds.get((number, False))):
                own = sum(whole.nanoseconds) / whole.steps / 1e9
                yield own, median(block.nanoseconds) / 1e9 - own


def one_by_one_warm(case: CaseRecord) -> Iterator[tuple[float, float]]:
    """For each block of several steps, the seconds of one step, and how much longer a single step
    took at the end of the warm-up. In training, no other steps are timed this way.
    """
    for process in case.processes.values():
        warmed = process.warm.warmup_blocks
        last = warmed[-max(2, len(warmed) // 3) :]
        alone = [elapsed / 1e9 for steps, elapsed in last if steps == 1]
        if len(alone) < 2:
            continue
        for block in process.blocks:
            if not block.each and block.steps > 1:
                own = sum(block.nanoseconds) / block.steps / 1e9
                yield own, min(alone) - own
