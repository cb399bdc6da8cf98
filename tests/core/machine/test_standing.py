"""Changes, made from outside, to how real processes may run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from mbench.machine import standing
from mbench.machine.process_tree import VARIABLE
from mbench.machine.processor_time import clocked, family, processor_seconds
from mbench.machine.standing import Standings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")

OWN = os.getpriority(os.PRIO_PROCESS, 0)
LOWEST = 19
THREADS = """
import threading, time
threads = [threading.Thread(target=time.sleep, args=(1000,), daemon=True) for _ in range(3)]
for one in threads:
    one.start()
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def worker():
    """A process of four threads that sleep."""
    process = subprocess.Popen([sys.executable, "-c", THREADS], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def threads(pid):
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def test_who_is_left_alone_has_no_moves(worker):
    standings = Standings()
    assert [standings.look(worker.pid) for _ in range(3)] == [[], [], []]
    assert standings.threads([worker.pid]) == 4


def test_all_threads_on_fewer_cores(worker):
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        pytest.skip("there is one core")
    standings = Standings()
    standings.look(worker.pid)
    for thread in threads(worker.pid):
        os.sched_setaffinity(thread, {min(usable)})
    (move,) = standings.look(worker.pid, within=True)
    assert (move.what, move.threads, move.within) == (standing.CORES, 4, True)
    assert (len(move.was.split(",")), move.now) == (len(usable), str(min(usable)))
    assert standings.look(worker.pid) == []  # it is reported once


def test_threads_with_a_core_each_are_as_a_framework_binds_them(worker):
    """But two threads on the same core, or all on one, are reported, whoever bound them."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("there is one core")
    standings = Standings()
    standings.look(worker.pid)
    first, second, *_ = threads(worker.pid)
    os.sched_setaffinity(first, {usable[0]})
    assert standings.look(worker.pid, within=True) == []
    found = Standings()
    found.look(worker.pid)
    os.sched_setaffinity(second, {usable[1]})
    assert standings.look(worker.pid, within=True) == []
    os.sched_setaffinity(first, usable)
    os.sched_setaffinity(second, usable)
    assert standings.look(worker.pid) == []
    assert found.look(worker.pid) == [], "the first look may see some that are bound"
    for thread in (first, second):
        os.sched_setaffinity(thread, {usable[0]})
    (move,) = standings.look(worker.pid, within=True)
    assert (move.what, move.threads, move.now) == (standing.CORES, 2, str(usable[0]))


def test_one_thread_of_less_priority(worker):
    standings = Standings()
    standings.look(worker.pid)
    os.setpriority(os.PRIO_PROCESS, threads(worker.pid)[-1], LOWEST)
    (move,) = standings.look(worker.pid)
    assert (move.what, move.was, move.now) == (standing.NICE, str(OWN), str(LOWEST))
    assert move.threads == 1


def test_what_was_changed_before_the_first_look(worker):
    os.setpriority(os.PRIO_PROCESS, worker.pid, LOWEST)
    standings = Standings()
    standings.look(worker.pid)
    (move,) = standings.look(worker.pid)
    assert (move.what, move.now) == (standing.NICE, str(LOWEST))


def test_another_scheduler_and_a_stop(worker):
    standings = Standings()
    standings.look(worker.pid)
    os.sched_setscheduler(worker.pid, os.SCHED_IDLE, os.sched_param(0))
    os.kill(worker.pid, signal.SIGSTOP)
    os.waitpid(worker.pid, os.WUNTRACED)
    found = {move.what: move.now for move in standings.look(worker.pid)}
    assert found == {standing.SCHEDULER: "idle", standing.STATE: "stopped"}


def test_of_who_has_gone_nothing_is_said(worker):
    standings = Standings()
    standings.look(worker.pid)
    worker.kill()
    worker.wait()
    assert standings.look(worker.pid) == []
    assert standings.threads([worker.pid]) == 0


def test_processor_time_is_known_to_less_than_a_tick():
    begin = time.process_time()
    while time.process_time() < begin + 0.003:
        pass
    found = clocked(os.getpid())
    assert found is not None
    assert found * 100 != round(found * 100)


ESCAPE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(1000)
    os._exit(0)
os.wait()
time.sleep(1000)
"""


def test_children_that_have_another_parent_are_of_the_family():
    environment = {**os.environ, VARIABLE: "of-this-test"}
    worker = subprocess.Popen([sys.executable, "-c", ESCAPE], stdout=subprocess.PIPE,
                              env=environment)  # fmt: skip
    child = int(worker.stdout.readline())
    try:
        members = family(worker.pid)
        for _ in range(200):  # the process between them may not be gone yet
            if len(members) == 2:
                break
            time.sleep(0.05)
            members = family(worker.pid)
        assert {one.pid for one in members} == {worker.pid, child}
        assert processor_seconds(members) > 0
    finally:
        os.kill(child, signal.SIGKILL)
        worker.kill()
        worker.wait()
        worker.stdout.close()
