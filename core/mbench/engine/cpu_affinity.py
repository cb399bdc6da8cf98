"""How steady processes of one case share a machine: cores for each, and none of another's."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mbench.contract.rank import RankInfo

__all__ = ["apart", "cores_of"]


def cores_of(place: RankInfo, usable: Collection[int]) -> set[int]:
    """The cores of one of `place.local_ranks` processes: alike in number, side by side.

    Where there are fewer cores than processes, some share one.
    """
    cores = sorted(usable)
    each = len(cores) // place.local_ranks
    if not each:
        return {cores[place.local_rank % len(cores)]}
    return set(cores[place.local_rank * each : (place.local_rank + 1) * each])


@contextmanager
def apart(place: RankInfo) -> Iterator[None]:
    """What this thread starts within it has its own cores, if it is not alone on its machine."""
    if place.local_ranks == 1 or not hasattr(os, "sched_setaffinity"):
        yield
        return
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores_of(place, usable))
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)
