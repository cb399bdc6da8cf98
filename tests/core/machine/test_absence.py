"""Absences: what a late tick means, and the clock that stands still during an absence."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from mbench.machine import absence
from mbench.machine.absence import ATTENDANCE, Attendance, Reading, unexplained, wait_until

PATIENCE = 60.0
LEAST = absence.LEAST_SECONDS
STEADY = Reading(at=100.0, asleep=5.0, queued=2.0, wakes=40, faults=3)


def later(seconds: float, **changes: float) -> Reading:
    return Reading(**{**vars(STEADY), "at": 100.0 + seconds, "wakes": 41, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (later(0.1), 0.0),
        (later(8.1), 8.0),
        (later(8.1, queued=10.0), 0.0),
        (later(8.1, queued=4.0), 6.0),
        (later(8.1, wakes=41 + 1600), 0.0),
        (later(8.1, faults=4), 0.0),
        (later(8.1, queued=None), 8.0),
    ],
    ids=["on time", "stopped", "waited for a core", "both", "waited for the lock", "swapped in",
         "not counted"],
)  # fmt: skip
def test_what_the_kernel_explains_is_no_absence(now, expected):
    assert unexplained(STEADY, now) == pytest.approx(expected, abs=0.05)


def reckoned(now: Reading) -> tuple[list[tuple[str, float]], float]:
    """The absences that a tick finds, and the seconds that the clock counts until this tick."""
    one = Attendance()
    one._reckoned = (STEADY.at, 0.0)
    one.reckon(STEADY, now)
    ticked, absent = one._reckoned
    return [(a.what, a.seconds) for a in one._absences], ticked - absent - STEADY.at


def test_the_clock_counts_waiting_and_no_absence():
    assert reckoned(later(0.1)) == ([], pytest.approx(0.1))
    assert reckoned(later(8.1, queued=10.0)) == ([], pytest.approx(8.1))
    assert reckoned(later(8.1)) == ([("mbench", 8.0)], pytest.approx(0.1 + LEAST))


def test_a_machine_that_was_suspended_is_known_by_its_clocks():
    assert reckoned(later(0.1, asleep=65.0)) == ([("machine", 60.0)], pytest.approx(0.1))


def test_without_counters_only_a_long_delay_is_an_absence():
    assert reckoned(later(1.1, queued=None))[0] == []
    assert reckoned(later(8.1, queued=None))[0] == [("mbench", 8.0)]


CLOCK = """
import sys, time
from mbench.machine.absence import ATTENDANCE, awake
begin, really = awake(), time.monotonic()
print("ready", flush=True)
for line in sys.stdin:
    found = ATTENDANCE.absences()
    print(awake() - begin, time.monotonic() - really, *(one.seconds for one in found), flush=True)
"""


@pytest.fixture
def other():
    """A process that prints its clock and its absences for each line that it reads."""
    with subprocess.Popen(
        [sys.executable, "-c", CLOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def asked(process: subprocess.Popen[str]) -> list[float]:
    process.stdin.write("\n")
    process.stdin.flush()
    return [float(word) for word in process.stdout.readline().split()]


def test_a_process_that_was_stopped_knows_it_at_once(other):
    asked(other)
    other.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    other.send_signal(signal.SIGCONT)
    awake, passed, *absences = asked(other)
    assert len(absences) == 1
    assert 1.0 < absences[0] < passed
    assert passed - awake > 1.0


def test_a_held_interpreter_is_not_away():
    known = len(ATTENDANCE.absences())
    begin = time.monotonic()
    re.match(r"(a+)+$", "a" * 24 + "b")  # holds the lock: it is one call into C
    held = time.monotonic() - begin
    assert held > 0
    assert len(ATTENDANCE.absences()) == known


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    ATTENDANCE.forget(process.pid)
    process.kill()
    process.wait()


def of_worker(pid: int) -> list[float]:
    return [one.seconds for one in ATTENDANCE.absences() if one.pid == pid]


def test_a_worker_that_is_stopped_by_somebody_else(sleeper):
    pid = sleeper.pid
    ATTENDANCE.runs(pid)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.6)
    assert not of_worker(pid)  # the absence has not ended
    os.kill(pid, signal.SIGCONT)
    assert wait_until(lambda: bool(of_worker(pid)), seconds=PATIENCE)
    assert of_worker(pid)[0] > 0.2
    ATTENDANCE.rests(pid)
    os.kill(pid, signal.SIGSTOP)  # by us
    time.sleep(0.3)
    ATTENDANCE.forget(pid)
    os.kill(pid, signal.SIGCONT)
    assert len(of_worker(pid)) == 1


def test_whom_we_had_stopped_stays_so_when_all_are_continued(sleeper):
    one = Attendance()
    one.rests(sleeper.pid)
    one._reckoned = (STEADY.at, 0.0)
    one.reckon(STEADY, later(8.1))
    assert wait_until(lambda: absence.is_stopped(sleeper.pid), seconds=PATIENCE)


def test_a_wait_ends_by_the_clock_that_stands_still(monkeypatch):
    ticks = iter([0.0, 1.0, 2.0, 3.0])
    monkeypatch.setattr(absence, "awake", lambda: next(ticks))
    assert not wait_until(lambda: False, seconds=1.5, every=0.0)
    assert next(ticks) == 3.0


def test_a_child_that_is_forked_ticks_for_itself():
    ATTENDANCE.absences()
    threads = threading.active_count()
    if (pid := os.fork()) == 0:
        found = ATTENDANCE.absences() == [] and threading.active_count() == 2
        os._exit(0 if found else 1)
    assert threads >= 2
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
