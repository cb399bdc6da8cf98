"""Detects when this process could not run because it was stopped, frozen, or on a sleeping machine;
and provides a clock that stands still meanwhile, which all time limits use.

A thread ticks ten times a second. A late tick alone proves nothing: a busy machine makes
threads wait for a processor, and long calls into C hold the interpreter's lock. But such waits
leave traces, and a stop leaves none:

- The kernel counts how long a thread waits for a processor (the second number of
  /proc/thread-self/schedstat).
- A thread that waits for the interpreter's lock wakes up after each switch interval (5 ms) to ask
  for it. The kernel counts these switches.
- A thread that waits for a page from a disk has a major page fault.
- While stopped (SIGSTOP), frozen (a cgroup's freezer) or in a virtual machine that does not run, a
  thread neither waits for a processor nor wakes up nor faults.

So the part of a delay that these counters do not explain is an absence. Suspending a whole machine
also stops the monotonic clock, while CLOCK_BOOTTIME keeps counting, so the two diverge.

Measured on two cores: after a stop of 1.5 s while the lock was held or twenty processes competed,
1.4 to 1.5 s stayed unexplained; with the lock held for 1.8 s, 0.02 s; with twenty competitors
alone, 0 s.

A worker has no such thread, as that would compete with its framework. Instead, this process checks
the worker at each tick: /proc shows whether a process is stopped, and its cgroup's files show
whether it is frozen.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import threading
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from mbench.contract.quantities import Number, Seconds
from mbench.machine.stopped import Look, is_stopped

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ATTENDANCE", "Absence", "Attendance", "Reading", "awake", "brief", "unexplained",
           "wait_until"]  # fmt: skip

TICK_SECONDS = 0.1
LEAST_SECONDS = 0.25
"""Smallest unexplained delay of a tick that counts as an absence."""
LEAST_OF_WORKER = 0.05
"""Shortest absence of a worker, which is observed directly and need not be inferred."""
LEAST_WITHOUT_COUNTERS = 2.0
"""LEAST_SECONDS on systems that do not count waits for a processor."""
READS, TOGETHER_SECONDS = 5, 1e-3
SETTLE_SECONDS = 30.0
OWN, WORKER, MACHINE = "mbench", "worker", "machine"
"""What can be absent."""


@dataclass(frozen=True, kw_only=True)
class Absence:
    """A time in which mbench, a worker or a whole machine could not run."""

    ended: str
    """When it ended: ISO 8601, UTC."""
    seconds: Seconds
    """How long it was, to a tenth of a second."""
    what: str
    """ "mbench" (on another machine, its agent), "worker", or "machine" if that was suspended."""
    host: str = ""
    """The machine; empty for the one that ran mbench."""
    pid: Number = 0
    """Process id of the worker; 0 if it was not a single worker."""
    times: Number = 0
    """How often it happened, at least, if each time was too short to be seen; otherwise 0."""


@dataclass(frozen=True)
class Reading:
    """Clocks, and what the kernel has counted of one thread."""

    at: float
    """Seconds on the monotonic clock."""
    asleep: float
    """Seconds by which the clock that counts suspensions is ahead of the monotonic clock."""
    queued: float | None
    """Seconds for which the thread waited for a processor; None if they are not counted."""
    wakes: int
    """How often the thread waited for something else: its own sleep or the interpreter's lock."""
    faults: int
    """Major page faults: pages that the thread waited for."""


def unexplained(before: Reading, after: Reading) -> float:
    """Seconds of the time between two ticks in which the thread neither slept as it should nor
    waited for a processor, the interpreter's lock or a page.
    """
    if after.faults > before.faults:
        return 0.0
    locked = max(0, after.wakes - before.wakes - 1) * sys.getswitchinterval()
    queued = 0.0
    if before.queued is not None and after.queued is not None:
        queued = after.queued - before.queued
    return after.at - before.at - TICK_SECONDS - locked - queued


def reader() -> Callable[[], Reading]:
    """A function that returns readings for the thread that calls `reader`."""
    schedstat: int | None = None
    with contextlib.suppress(OSError):
        schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    of_thread = getattr(resource, "RUSAGE_THREAD", None)

    def read() -> Reading:
        queued, wakes, faults = None, 0, 0
        if schedstat is not None:
            queued = int(os.pread(schedstat, 100, 0).split()[1]) / 1e9
        if of_thread is not None:
            used = resource.getrusage(of_thread)
            wakes, faults = used.ru_nvcsw, used.ru_majflt
        for _ in range(READS):  # until both clocks are read without a break
            at = time.monotonic()
            asleep = 0.0 if boottime is None else time.clock_gettime(boottime) - at
            if time.monotonic() - at < TOGETHER_SECONDS:
                break
        return Reading(at, asleep, queued, wakes, faults)

    return read


class Attendance:
    """Keeps the ticks of this process and what they have shown. Any thread may use it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything, including the thread, which a forked child does not have."""
        self._changed = threading.Condition()
        self._ticking = False
        self._reckoned = (time.monotonic(), 0.0)
        """The time of the last tick, and the seconds for which we had been absent until then."""
        self._back = float("-inf")
        """When our last absence ended, on the monotonic clock."""
        self._absences: list[Absence] = []
        self._taken = 0
        self._looks: dict[int, Look] = {}
        """Looks at workers that should run, by process id."""
        self._held: set[int] = set()
        """Workers that mbench has stopped itself."""

    def awake(self) -> float:
        """Seconds on a clock that stands still while we are absent; only differences matter.

        Why a tick is late is not known until it comes, so time that no tick has confirmed counts
        only up to the longest delay that is not an absence.
        """
        self._start()
        ticked, absent = self._reckoned
        return ticked - absent + min(time.monotonic() - ticked, TICK_SECONDS + LEAST_SECONDS)

    def absences(self) -> list[Absence]:
        """All absences that have ended by now: a worker that has just answered runs again."""
        self._start()
        self._settle()
        with self._changed:
            self._look()
            return [*self._absences]

    def take(self) -> list[Absence]:
        """The absences that were not taken before."""
        self.absences()
        with self._changed:
            found = self._absences[self._taken :]
            self._taken = len(self._absences)
        return found

    def runs(self, pid: int) -> None:
        """From now on, this worker should run."""
        self._start()
        with self._changed:
            self._held.discard(pid)
            self._looks[pid] = Look(pid)

    def rests(self, pid: int) -> None:
        """From now on, this worker should not run, since mbench stops it."""
        with self._changed:
            self._end_look(pid)
            self._held.add(pid)

    def forget(self, pid: int) -> None:
        """This worker ends, or is about to be resumed."""
        with self._changed:
            self._end_look(pid)
            self._held.discard(pid)

    def _start(self) -> None:
        if self._ticking:
            return
        with self._changed:
            if not self._ticking:
                self._ticking = True
                self._reckoned = time.monotonic(), self._reckoned[1]
                threading.Thread(target=self._tick, name="attendance", daemon=True).start()

    def _settle(self) -> None:
        """Wait for a late tick, which will show why it was late."""
        end = time.monotonic() + SETTLE_SECONDS
        with self._changed:
            while time.monotonic() - self._reckoned[0] > TICK_SECONDS + LEAST_SECONDS:
                if time.monotonic() > end:
                    break
                self._changed.wait(TICK_SECONDS)

    def _tick(self) -> None:
        read = reader()
        last = read()
        while True:
            time.sleep(TICK_SECONDS)
            now = read()
            with self._changed:
                self.reckon(last, now)
                self._look()
                self._changed.notify_all()
            last = now

    def reckon(self, last: Reading, now: Reading) -> None:
        """Find out whether we were absent between two ticks."""
        _, absent = self._reckoned
        least = LEAST_SECONDS if now.queued is not None else LEAST_WITHOUT_COUNTERS
        away, slept = unexplained(last, now), now.asleep - last.asleep
        if slept > LEAST_SECONDS:
            self._absences.append(ended_now(slept, MACHINE))
        if away > least:
            # The part that the clock has already counted stays: it must not run backwards.
            absent += max(0.0, now.at - last.at - TICK_SECONDS - LEAST_SECONDS)
            self._absences.append(ended_now(away, OWN))
        if away > least or slept > LEAST_SECONDS:
            self._back = now.at
            self._hold_again()
        self._reckoned = now.at, absent

    def _hold_again(self) -> None:
        """Stop held workers again: whoever continues all our processes continues them, too."""
        for pid in self._held:
            if not is_stopped(pid):
                for send in (os.killpg, os.kill):
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        send(pid, signal.SIGSTOP)

    def _look(self) -> None:
        """Check whether workers that should run do so."""
        for look in self._looks.values():
            was, found = look.since, look.take()
            if was is not None and not found:
                self._note(look.ended - was, look.pid)

    def _end_look(self, pid: int) -> None:
        look = self._looks.pop(pid, None)
        if look is not None and look.since is not None:
            self._note(time.monotonic() - look.since, pid)

    def _note(self, seconds: float, pid: int) -> None:
        """Record a worker's absence, unless we were absent, too, and it came back just after us."""
        common = time.monotonic() - seconds - self._back < LEAST_SECONDS
        if seconds >= (LEAST_SECONDS if common else LEAST_OF_WORKER):
            self._absences.append(ended_now(seconds, WORKER, pid=pid))


def ended_now(seconds: float, what: str, *, pid: int = 0) -> Absence:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Absence(ended=now, seconds=round(seconds, 1), what=what, pid=pid)


def brief(pid: int, *, times: int, host: str = "") -> Absence:
    """The absence of a worker that was stopped and continued between two looks."""
    return replace(ended_now(0.0, WORKER, pid=pid), times=times, host=host)


ATTENDANCE = Attendance()
"""The attendance of this process."""


def awake() -> float:
    """Seconds on the clock that all time limits use: it stands still while mbench is stopped,
    frozen or suspended. Only differences matter.
    """
    return ATTENDANCE.awake()


def wait_until(true: Callable[[], bool], *, seconds: float, every: float = 0.01) -> bool:
    """Whether `true` has become true within `seconds` during which mbench was awake."""
    end = awake() + seconds
    while not true():
        if awake() > end:
            return true()
        time.sleep(every)
    return True


os.register_at_fork(after_in_child=ATTENDANCE.reset)
