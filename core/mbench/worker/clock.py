"""The only timed loop of the project."""

from __future__ import annotations

import gc
from time import perf_counter_ns
from typing import TYPE_CHECKING

from mbench.contract.wire import Elapsed
from mbench.worker.stops import continued

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["time_steps"]


def time_steps(
    step: Callable[[], None],
    synchronize: Callable[[], None],
    *,
    count: int,
    each: bool = False,
    lead: int = 0,
) -> Elapsed:
    """Time `count` steps between two synchronisations, or each between its own two.

    `lead` untimed steps run first.
    """
    # No block pays for another's garbage. What survives a collection is frozen: scanning all of a
    # framework's objects takes a fifth of a second and leaves caches cold.
    gc.collect()
    gc.freeze()
    for _ in range(lead):
        step()
    synchronize()
    durations = []
    before = continued()
    start = begin = perf_counter_ns()
    if each:
        for _ in range(count):
            begin = perf_counter_ns()
            step()
            synchronize()
            durations.append(perf_counter_ns() - begin)
    else:
        for _ in range(count):
            step()
        synchronize()
        durations.append(perf_counter_ns() - begin)
    return Elapsed(start_nanoseconds=start, nanoseconds=durations, stops=continued() - before)
