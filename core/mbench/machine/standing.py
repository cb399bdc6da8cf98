"""How the kernel lets a worker's threads run, and how that changes: another process may move them
to fewer cores, lower their priority, or put them into a cgroup with a limit.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mbench.contract.quantities import Count, Number
from mbench.machine.stopped import state_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["CGROUP", "CORES", "NICE", "RUNS", "SCHEDULER", "STATE", "Move", "Standing", "Standings"]

CORES, NICE, SCHEDULER, CGROUP, STATE = "cores", "nice", "scheduler", "cgroup", "state"
"""What may be changed from outside the worker."""
PROCESSES = Path("/proc")
RUNS = "running"
HELD = {"T": "stopped", "t": "traced"}
"""States in /proc/PID/stat of a process that cannot run; checked when a worker should run."""
MOST_THREADS = 100
"""Most threads of a process that each look reads, always including the first: 2 to 5 us each."""
POLICIES = {
    getattr(os, name): word
    for name, word in (("SCHED_OTHER", "normal"), ("SCHED_BATCH", "batch"),
                       ("SCHED_IDLE", "idle"), ("SCHED_FIFO", "fifo"), ("SCHED_RR", "rr"))
    if hasattr(os, name)
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Move:
    """A change in how some threads of a worker may run, made by others since the last look."""

    pid: Number
    """Process id of the worker."""
    what: str
    """ "cores", "nice", "scheduler", "cgroup" or "state"."""
    was: str
    """Before the change: the cores, separated by commas; the nice value; the scheduling policy; the
    cgroup's path; or the state."""
    now: str
    """The same, after the change."""
    threads: Count
    """How many of the worker's threads changed in this way."""
    within: bool
    """Whether it was seen during the block or at its end, rather than just before the block."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a worker may run on one machine during a block."""

    threads: Count | None = None
    """How many threads the worker had; None if unknown."""
    moves: list[Move] = field(default_factory=list)
    """What others have changed since the previous block about how its threads may run."""


class Standings:
    """How a machine's workers may run. Each look at a worker is compared with earlier ones."""

    def __init__(self) -> None:
        self._known: dict[int, dict[int, dict[str, str]]] = {}
        """What was last seen of each thread, by process and thread."""
        self._chance = random.Random()

    def look(self, pid: int, *, within: bool = False) -> list[Move]:
        """What has changed since the last look; nothing at the first look, and without /proc. A
        worker begins with the priority and the policy of our own process, which it inherits.
        """
        there = threads_of(pid)
        now = self._seen(pid, there)
        if not now:
            return []
        if pid not in self._known:
            ours = of_thread(0)
            own = {what: ours[what] for what in (NICE, SCHEDULER) if what in ours}
            self._known[pid] = {**now, pid: {**now.get(pid, {}), **own}}
            return []
        living = set(there)
        # A released id may belong to another thread by now.
        known = {thread: seen for thread, seen in self._known[pid].items() if thread in living}
        allowed = {core for seen in known.values() for core in cores_in(seen)}
        if spread_out(now.values(), allowed):
            now = {thread: {what: value for what, value in seen.items() if what != CORES}
                   for thread, seen in now.items()}  # fmt: skip
        changed: dict[tuple[str, str, str], int] = {}
        for thread, seen in now.items():
            for what, value in seen.items():
                was = known.get(thread, seen).get(what, value)
                if what == CORES and thread not in known and not set(value.split(",")) <= allowed:
                    was = ",".join(sorted(allowed, key=int))  # what it would have inherited
                if was != value:
                    change = what, was, value
                    changed[change] = changed.get(change, 0) + 1
            known[thread] = {**known.get(thread, {}), **seen}
        self._known[pid] = known
        return [
            Move(pid=pid, what=what, was=was, now=value, threads=count, within=within)
            for (what, was, value), count in changed.items()
        ]

    def threads(self, pids: Sequence[int]) -> int:
        """How many threads these processes have together."""
        return sum(len(threads_of(pid)) for pid in pids)

    def _seen(self, pid: int, there: list[int]) -> dict[int, dict[str, str]]:
        """How each thread may run; the cgroup and the state are those of the first one."""
        if len(there) > MOST_THREADS:
            there = [pid, *self._chance.sample(there, MOST_THREADS)]
        found = {thread: seen for thread in there if (seen := of_thread(thread))}
        if pid in found:
            found[pid].update(of_process(pid))
        return found


def cores_in(seen: Mapping[str, str]) -> set[str]:
    """The cores on which a thread may run; empty if unknown."""
    return set(seen[CORES].split(",")) if CORES in seen else set()


def spread_out(now: Iterable[Mapping[str, str]], allowed: set[str]) -> bool:
    """Whether a worker's threads may still run on all its cores. Threads that are bound to some of
    the cores need, together, only one core each: some frameworks bind each thread to its own core
    while it computes.
    """
    cores = [cores_in(seen) for seen in now]
    bound = [one for one in cores if one < allowed]
    together = set().union(*bound)
    return set().union(*cores) == allowed and len(together) >= min(len(bound), len(allowed))


def threads_of(pid: int) -> list[int]:
    """The ids of a process's threads; empty if it has ended, and without /proc."""
    try:
        return [int(name) for name in os.listdir(PROCESSES / str(pid) / "task")]
    except (OSError, ValueError):
        return []


def of_thread(thread: int) -> dict[str, str]:
    """A thread's cores, nice value and policy; empty if it has ended. 0 is this thread."""
    try:
        policy = os.sched_getscheduler(thread)
        return {
            CORES: ",".join(map(str, sorted(os.sched_getaffinity(thread)))),
            NICE: str(os.getpriority(os.PRIO_PROCESS, thread)),
            SCHEDULER: POLICIES.get(policy, str(policy)),
        }
    except (OSError, AttributeError):  # macOS has no such calls
        return {}


def of_process(pid: int) -> dict[str, str]:
    """A process's cgroup, and whether it is running, stopped or traced."""
    found = {}
    try:
        found[CGROUP] = (PROCESSES / str(pid) / "cgroup").read_text().strip().replace("\n", " ")
        found[STATE] = HELD.get(state_of(pid)[0], RUNS)
    except (OSError, ValueError):
        pass
    return found
