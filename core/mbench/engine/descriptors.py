"""Files that a process may have open: many ranks take many, and limits are from another time."""

from __future__ import annotations

import contextlib
import os
import resource

from mbench.errors import MbenchError

__all__ = ["OF_KEPT", "OF_LOCAL", "OF_REMOTE", "allow"]

OF_LOCAL = 4
"""Of a process that is started here: a pipe each way, a leash, and what tells of its end."""
OF_KEPT = 2
"""Of one that a keeper starts: the last two."""
OF_REMOTE = 1
"""Of one on another machine: its line."""
SPARE = 128
"""For everything else, and what starting a process takes for a moment."""
OPEN = "/dev/fd"


def allow(ranks: int, *, each: int) -> None:
    """See to it that so many more can be started; raises MbenchError where they are not allowed.

    The soft limit is raised up to the hard one only where it is too low: children inherit it.
    """
    needed = len(os.listdir(OPEN)) + ranks * each + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise MbenchError(
            f"{ranks} more processes take about {needed} open files, and {hard} is the most that "
            "is allowed here: let the hard limit be raised (ulimit -Hn)"
        )
    with contextlib.suppress(ValueError, OSError):  # of systems with a limit beneath the hard one
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
